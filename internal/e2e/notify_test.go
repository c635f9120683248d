package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Given a loopd that was told of no program to call, and a delivery that fails,
// When a program is configured, another delivery fails, the program is taken out and a third one fails,
// Then the program was called for the second alone.
func TestAPersonIsToldWhileAProgramIsConfigured(t *testing.T) {
	t.Parallel()
	const base = "max_attempts = 1\n"
	w := newWorld(t, base)
	w.start()
	w.register("acme/shop#15", conversation)
	told := filepath.Join(w.dir, "told")
	reload := func(more string) {
		w.configure(base + more)
		w.must("reload")
	}
	fails := func() string { return w.ends(w.comment(15, "[[claude nonsense]]"), "failed", "attempts-used-up").ID }

	fails()
	reload(fmt.Sprintf("[notify]\ncommand = [\"/bin/sh\", \"-c\", \"cat >> %s\"]", told))
	second := fails()
	text := func() string {
		b, err := os.ReadFile(told)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(b)
	}
	w.await("the person to be told", func() bool { return strings.HasSuffix(text(), "\n") })
	reload("")
	fails()
	w.stop()
	if got := text(); strings.Count(got, "\n") != 1 || !strings.Contains(got, second) {
		t.Errorf("the program was called with\n%swant one call, for %s", got, second)
	}
}

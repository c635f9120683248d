package loop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestTokensAreFoundAgain(t *testing.T) {
	t.Parallel()
	a, b := loop.RunID("20260702-101500-123-ab2cd3"), loop.RunID("20260702-101501-007-zzzzz7")
	for name, c := range map[string]struct {
		text string
		want []loop.RunID
	}{
		"none":                   {"[loop] and [loop 15]", nil},
		"first line":             {"GitHub " + a.Token() + ": a comment\n\nbody", []loop.RunID{a}},
		"two, one of them twice": {a.Token() + b.Token() + "\n" + a.Token(), []loop.RunID{a, b}},
		"cut":                    {"[loop 20260702-101500-123-ab2cd", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, loop.FindTokens(c.text)); diff != "" {
				t.Errorf("tokens (-want +got):\n%s", diff)
			}
		})
	}
}

package harness_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/harness"
)

var tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")

// documented are the harnesses that the documentation declares as examples, as a configuration file would declare them.
func documented(t *testing.T) map[string]harness.Program {
	t.Helper()
	page, err := os.ReadFile("../../docs/harnesses.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]harness.Program{}
	for _, block := range tomlBlock.FindAllSubmatch(page, -1) {
		cfg, _, err := config.Decode(block[1], "/etc/loop/loop.toml", "/home/u")
		if err != nil {
			t.Fatalf("docs/harnesses.md: %v in\n%s", err, block[1])
		}
		for name, h := range cfg.Harness {
			if h.Declared() {
				found[name] = harness.Program{Args: h.Args, Declared: &harness.Declared{
					Start: h.Start, Resume: h.Resume, Prompt: h.Prompt, Format: harness.Format{Output: h.Output, ID: h.ID, OK: h.OK},
				}}
			}
		}
	}
	for _, name := range []string{"gemini", "opencode", "copilot", "scribe"} {
		if found[name].Declared == nil {
			t.Fatalf("docs/harnesses.md does not show how to declare %s", name)
		}
	}
	return found
}

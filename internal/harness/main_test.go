package harness_test

import (
	"os"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

// The test binary is also the stand-in for Claude Code that its tests start.
func TestMain(m *testing.M) {
	if claudetest.IsClaude(os.Args) {
		os.Exit(claudetest.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

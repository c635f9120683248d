package harness_test

import (
	"os"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// The test binary is also every stand-in that its tests start.
func TestMain(m *testing.M) {
	if agenttest.Is(os.Args) {
		os.Exit(agenttest.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

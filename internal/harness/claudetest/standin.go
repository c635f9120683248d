package claudetest

import (
	"io"
	"path/filepath"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

const programName = "claude"

// Environment variables that steer the stand-in; see agenttest.
const (
	EnvRecord = agenttest.EnvRecord
	EnvState  = agenttest.EnvState
	EnvDo     = agenttest.EnvDo
)

// Run is one run of the stand-in, as it saw itself.
type Run = agenttest.Run

// ReadRuns returns the runs in a record file; see agenttest.
func ReadRuns(name string) ([]Run, error) { return agenttest.ReadRuns(name) }

// Install makes the running program the claude of a folder, and returns its path. The program's main function must then give
// way to Main where IsClaude says so.
func Install(dir string) (string, error) { return agenttest.Install(dir, programName) }

// IsClaude reports whether a program with these arguments, its own name first, was started as the stand-in.
func IsClaude(args []string) bool {
	return len(args) > 0 && filepath.Base(args[0]) == programName || agenttest.IsChild(args)
}

// Main is the stand-in for Claude Code, and returns its exit status; args are without the program's name. agenttest says which
// directives it knows.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return agenttest.Main(append([]string{programName}, args...), stdin, stdout, stderr)
}

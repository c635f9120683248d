package claudetest

import (
	"fmt"
	"os"
	"path/filepath"
)

const programName = "claude"

// Install makes the running program the claude of a folder, and returns its path. The program's main function must then
// give way to Main where IsClaude says so; of a test binary that is TestMain:
//
//	func TestMain(m *testing.M) {
//		if claudetest.IsClaude(os.Args) {
//			os.Exit(claudetest.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
//		}
//		os.Exit(m.Run())
//	}
func Install(dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	link := filepath.Join(dir, programName)
	if err := os.Symlink(self, link); err != nil {
		return "", fmt.Errorf("install the stand-in: %w", err)
	}
	return link, nil
}

// IsClaude reports whether a program with these arguments, its own name first, was started as the stand-in.
func IsClaude(args []string) bool {
	return len(args) > 0 && filepath.Base(args[0]) == programName || len(args) == 2 && args[1] == childArg
}

package agenttest

import (
	"fmt"
	"os"
	"path/filepath"
)

// Install makes the running program one of the stand-ins, by its name in a folder, and returns its path. The program's main
// function must then give way to Main where Is says so; of a test binary that is TestMain:
//
//	func TestMain(m *testing.M) {
//		if agenttest.Is(os.Args) {
//			os.Exit(agenttest.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
//		}
//		os.Exit(m.Run())
//	}
func Install(dir, name string) (string, error) {
	if _, ok := programs()[name]; !ok {
		return "", fmt.Errorf("install a stand-in: there is none for %s", name)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	link := filepath.Join(dir, name)
	if err := os.Symlink(self, link); err != nil {
		return "", fmt.Errorf("install a stand-in: %w", err)
	}
	return link, nil
}

// Is reports whether a program with these arguments, its own name first, was started as a stand-in, or as a child of one.
func Is(args []string) bool {
	if len(args) == 0 {
		return false
	}
	_, ok := programs()[filepath.Base(args[0])]
	return ok || IsChild(args)
}

// IsChild reports whether a program with these arguments, its own name first, was started as a child of a stand-in.
func IsChild(args []string) bool { return len(args) == 2 && args[1] == childArg }

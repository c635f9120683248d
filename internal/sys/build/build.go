// Package build says what the running program was built from. It reads what the Go linker wrote into the program, so that
// nothing has to be passed to the build; it promises that the answer is the same for the life of the process.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Info is what a program was built from.
type Info struct {
	Version  string  `json:"version"`  // of the module, or "(devel)"
	Commit   *string `json:"commit"`   // nil where the build did not record one
	Modified bool    `json:"modified"` // from files that were not committed
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
}

// String is Info in one line, for --version.
func (i Info) String() string {
	s := i.Version
	if i.Commit != nil && !strings.Contains(s, (*i.Commit)[:min(12, len(*i.Commit))]) {
		s += fmt.Sprintf(" (%.12s)", *i.Commit)
	}
	return s + " " + i.Go + " " + i.Platform
}

// Read returns what this program was built from.
func Read() Info {
	i := Info{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return i
	}
	if info.Main.Version != "" {
		i.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = &s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}

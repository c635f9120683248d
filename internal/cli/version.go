package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version prints the build.
type version struct{}

// Run prints the build.
func (version) Run(out *printer) error {
	b := readBuild()
	if out.json {
		return out.printJSON(b, "  ")
	}
	return out.line("loopctl %s", b)
}

// build says what this program was built from.
type build struct {
	Version  string  `json:"version"`
	Commit   *string `json:"commit"`
	Modified bool    `json:"modified"` // from files that were not committed
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
}

func (b build) String() string {
	s := b.Version
	if b.Commit != nil && !strings.Contains(s, (*b.Commit)[:min(12, len(*b.Commit))]) {
		s += fmt.Sprintf(" (%.12s)", *b.Commit)
	}
	return s + " " + b.Go + " " + b.Platform
}

func readBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = &s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

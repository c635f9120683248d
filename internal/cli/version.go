package cli

import "github.com/loop-daemon/loop/internal/sys/build"

// version prints the build.
type version struct{}

// Run prints the build.
func (version) Run(out *printer) error {
	b := build.Read()
	if out.json {
		return out.printJSON(b, "  ")
	}
	return out.line("loopctl %s", b)
}

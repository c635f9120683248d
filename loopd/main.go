// Loopd is the daemon of Loop: it brings what happens on GitHub to the coding-agent sessions on this machine. It runs in the
// foreground; run it with --help.
package main

import (
	"context"
	"os"

	"github.com/loop-daemon/loop/internal/app"
)

func main() {
	os.Exit(app.Main(context.Background(), app.Process()))
}

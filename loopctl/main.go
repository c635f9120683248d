// Loopctl is the client of loopd: it shows what the daemon does, and tells it what a person or a hook wants. Its commands,
// what they print and their exit codes are in docs/loopctl.md; run it with --help.
package main

import (
	"context"
	"os"

	"github.com/loop-daemon/loop/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

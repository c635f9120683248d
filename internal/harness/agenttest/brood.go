package agenttest

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// childArg makes the stand-in a child of itself: a tool that goes on.
const childArg = "agenttest-child"

// brood leaves two children behind that ignore every polite signal: a tool in a process group of its own, and a server in a
// session of its own and with nothing of the environment by which it could be known.
func brood() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := proc.Program{Path: self, Args: []string{childArg}}
	if _, err := proc.Start(child); err != nil {
		return fmt.Errorf("start a child: %w", err)
	}
	child.Env = []string{}
	if _, err := proc.Detach(child); err != nil {
		return fmt.Errorf("start a child: %w", err)
	}
	return nil
}

func idle() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	time.Sleep(longest)
	return 0
}

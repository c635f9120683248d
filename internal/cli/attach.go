package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// termTimeout bounds the question whether a terminal is known: the answer is in a file.
const termTimeout = 2 * time.Second

// attach looks into the terminal of a session from the person's own.
type attach struct {
	itemArg

	Write bool `help:"Take the keyboard too. The terminal of a closed session can only be read."`
}

// Help is shown below the flags.
func (attach) Help() string {
	return `
The terminal of a session is one of tmux, on a server of loopd's own. Without --write it can only be read, and nobody who
looks in changes its size. The keys of tmux hold: Ctrl-b d goes back to your own terminal.

Examples:

  loopctl attach acme/shop#15
  loopctl attach . --write
`
}

// Run becomes the program that shows the terminal.
func (a attach) Run(ctx context.Context, c *client, out *printer, who caller) error {
	item, err := a.item(ctx)
	if err != nil {
		return err
	}
	answer, err := c.SessionsClient.Get(ctx, &loopv1.GetSessionRequest{
		WorkItem: item.Ref(), Attach: &loopv1.AttachTo{Write: a.Write, Tmux: who.getenv("TMUX")},
	})
	if err != nil {
		return err // such as that there is no terminal to look into, which would not be mended by coming from one
	}
	if term := who.getenv("TERM"); !isTerminal(who.stdin) || !out.terminal || term == "" || term == "dumb" {
		return fmt.Errorf("attach needs a terminal of your own to show it in; loopctl logs %s prints what it shows: %w", item, loop.ErrInvalid)
	}
	argv := answer.GetAttach().GetArgv()
	switch {
	case len(argv) == 0:
		return errors.New("this loopd does not know how to attach: it is older than this loopctl; restart it")
	case !filepath.IsAbs(argv[0]):
		return fmt.Errorf("loopd names %q to attach with, which is no absolute path", argv[0])
	}
	if note := answer.GetAttach().GetNote(); note != "" {
		out.note("%s", note)
	}
	if unknownTerm(ctx, who.getenv("TERM")) {
		out.note("the terminal %q is not known here; if tmux says so too, set TERM=xterm-256color for this command", who.getenv("TERM"))
	}
	if err := syscall.Exec(argv[0], argv, os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	return nil
}

// unknownTerm reports whether this machine's own database has no terminal of that name, as on one that is reached by ssh from a
// newer one. A tmux that was built with another database may know it all the same.
func unknownTerm(ctx context.Context, term string) bool {
	ctx, cancel := context.WithTimeout(ctx, termTimeout)
	defer cancel()
	_, err := proc.Run(ctx, proc.Cmd{Path: "tput", Args: []string{"-T", term, "longname"}})
	exit, ran := errors.AsType[*proc.ExitError](err)
	return ran && exit.Code > 0
}

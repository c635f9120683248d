package tmux

import (
	"fmt"
	"os"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// Viewer is who wants to watch a session, and from where.
type Viewer struct {
	Write    bool   // takes the keyboard too; else only reads
	TakeOver bool   // sends the other viewers away
	Terminal bool   // its input and output are a terminal
	Term     string // its TERM
	Tmux     string // its TMUX: which tmux it is in, if any
}

// Attach is how a viewer gets to see a session.
type Attach struct {
	Argv   []string // the program to become, by its absolute path
	Nested bool     // it runs in another tmux: there the prefix key must be pressed twice
}

// Attach returns how the viewer gets to the session: by a program that it becomes. Inside our own server this replaces the
// viewer's client by one that only reads, which leaves all other clients where they are. The error is loop.ErrInvalid, and says
// what to do, where there is no terminal to show a session on.
func (s *Server) Attach(session string, v Viewer) (Attach, error) {
	if err := checkName(session); err != nil {
		return Attach{}, err
	}
	switch {
	case !v.Terminal:
		return Attach{}, fmt.Errorf("loopctl attach needs a terminal; use loopctl logs REF: %w", loop.ErrInvalid)
	case v.Term == "" || v.Term == "dumb":
		return Attach{}, fmt.Errorf("loopctl attach needs a terminal that can be cleared, and TERM is %q; set TERM, or use loopctl logs REF: %w", v.Term, loop.ErrInvalid)
	}
	if s.isOurs(v.Tmux) {
		readOnly := s.attachArgv(session, Viewer{TakeOver: v.TakeOver})
		argv := append([]string{s.binary}, s.flags()...)
		return Attach{Argv: append(argv, "detach-client", "-E", shellLine("exec", readOnly))}, nil
	}
	return Attach{Argv: s.attachArgv(session, v), Nested: v.Tmux != ""}, nil
}

// AttachLine is the command that a person can type anywhere to watch the session, for messages.
func (s *Server) AttachLine(session string) string {
	return shellLine("", []string{"tmux", "-S", s.socket, "attach", "-r", "-t", strings.TrimSuffix(exactly(session), ":")})
}

func (s *Server) attachArgv(session string, v Viewer) []string {
	argv := append([]string{s.binary}, s.flags()...)
	argv = append(argv, "attach-session")
	if !v.Write {
		argv = append(argv, "-r")
	}
	if v.TakeOver {
		argv = append(argv, "-d")
	}
	return append(argv, "-t", exactly(session))
}

// isOurs reads TMUX, which begins with the socket's path.
func (s *Server) isOurs(env string) bool {
	socket, _, _ := strings.Cut(env, ",")
	if socket == "" {
		return false
	}
	theirs, err := os.Stat(socket)
	if err != nil {
		return socket == s.socket
	}
	ours, err := os.Stat(s.socket)
	return err == nil && os.SameFile(theirs, ours)
}

// shellLine quotes a command for sh where that is needed.
func shellLine(prefix string, argv []string) string {
	var words []string
	if prefix != "" {
		words = append(words, prefix)
	}
	for _, arg := range argv {
		if strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") != "" || arg == "" {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

package tmux

import (
	"os"
	"strings"
)

// Viewer is who wants to watch a session, and from where.
type Viewer struct {
	Write bool   // takes the keyboard too; else only reads
	Tmux  string // its TMUX: which tmux it is in, if any
}

// Attach is how a viewer gets to see a session.
type Attach struct {
	Argv   []string // the program to become, by its absolute path
	Nested bool     // it runs in another tmux: there the prefix key must be pressed twice
}

// Attach returns how the viewer gets to the session, which is named or, as it may have been renamed, told by its id: by a program
// that the viewer becomes. Inside our own server this replaces the
// viewer's client by one that only reads, which leaves all other clients where they are. The viewer must be at a terminal.
func (s *Server) Attach(session string, v Viewer) (Attach, error) {
	target, err := sessionTarget(session)
	if err != nil {
		return Attach{}, err
	}
	if s.isOurs(v.Tmux) {
		readOnly := s.attachArgv(target, Viewer{})
		argv := append([]string{s.binary}, s.flags()...)
		return Attach{Argv: append(argv, "detach-client", "-E", shellLine("exec", readOnly))}, nil
	}
	argv := s.attachArgv(target, v)
	if v.Tmux == "" {
		return Attach{Argv: argv}, nil
	}
	// With TMUX set, a viewer at a terminal that has the number of one that a dead pane of ours had is taken for that pane.
	return Attach{Argv: append([]string{"/usr/bin/env", "-u", "TMUX"}, argv...), Nested: true}, nil
}

// AttachLine is the command that a person can type anywhere to watch the session, for messages.
func (s *Server) AttachLine(session string) string {
	return shellLine("", []string{"tmux", "-S", s.socket, "attach", "-r", "-t", strings.TrimSuffix(exactly(session), ":")})
}

func (s *Server) attachArgv(target string, v Viewer) []string {
	argv := append([]string{s.binary}, s.flags()...)
	argv = append(argv, "attach-session")
	if !v.Write {
		argv = append(argv, "-r")
	}
	return append(argv, "-t", target)
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

package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

const (
	patience  = 5 * time.Second
	killGrace = 100 * time.Millisecond // of a tmux client that is stuck: it has nothing to tidy up

	maxSocketPath = 100      // the kernels take 103 and 107
	maxAnswer     = 64 << 20 // 2000 lines of a very wide pane
)

// Options say where the server is.
type Options struct {
	Dir      string        // a folder of ours for the socket, the configuration, the lock and the record; absolute, made where missing
	Socket   string        // the socket's absolute path; "": s in Dir, or a short path below /tmp where that would be too long
	Binary   string        // tmux: a path, or a name to be found; "": tmux
	Environ  []string      // ours, of which tmux gets PATH, HOME and the locale; nil: os.Environ()
	Patience time.Duration // how long tmux may take to answer a question; a change may take twice as long; 0: 5 seconds
	Logger   *slog.Logger  // nil: no log
}

// Server is a client of the one private tmux server. It is safe for concurrent use.
type Server struct {
	binary   string
	version  version // of the binary, not of a server that runs already
	socket   string
	dir      string
	environ  []string // all of ours; only what starts the server looks further than tmuxEnviron
	conf     string
	hash     string // of conf
	patience time.Duration
	log      *slog.Logger
	turn     chan struct{} // holds one token while somebody starts or heals the server
	last     record        // that we wrote; guarded by turn
}

// New looks for tmux and says where its server will be; it starts nothing. The error is ErrUnavailable, with how to install tmux,
// where there is none of version 3.2 or newer, and ErrInvalid where a path can't be used.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Binary == "" {
		o.Binary = "tmux"
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	socket, err := socketPath(o)
	if err != nil {
		return nil, err
	}
	s := &Server{socket: socket, dir: o.Dir, environ: o.Environ, patience: o.Patience, log: o.Logger, turn: make(chan struct{}, 1)}
	if s.binary, err = proc.LookPath(o.Binary, o.Environ); err != nil {
		return nil, tooOld("none", err)
	}
	if s.version, err = s.askVersion(ctx); err != nil {
		return nil, err
	}
	s.conf, s.hash = configuration(s.terminal(ctx))
	return s, nil
}

// Socket is the path of the server's socket.
func (s *Server) Socket() string { return s.socket }

// Binary is the absolute path of the tmux that is used.
func (s *Server) Binary() string { return s.binary }

func socketPath(o Options) (string, error) {
	for _, path := range []string{o.Dir, orElse(o.Socket, o.Dir)} {
		if !filepath.IsAbs(path) {
			return "", fmt.Errorf("tmux needs an absolute path, not %q: %w", path, loop.ErrInvalid)
		}
	}
	path := orElse(o.Socket, filepath.Join(o.Dir, "s"))
	if len(path) > maxSocketPath && o.Socket == "" {
		sum := sha256.Sum256([]byte(o.Dir))
		path = fmt.Sprintf("/tmp/loopd-%d-%s/s", os.Geteuid(), hex.EncodeToString(sum[:4]))
	}
	switch {
	case len(path) > maxSocketPath:
		return "", fmt.Errorf("tmux socket %s is longer than %d bytes, choose a shorter path: %w", path, maxSocketPath, loop.ErrInvalid)
	case !safeValue.MatchString(path):
		return "", fmt.Errorf("tmux socket %s: its path may have letters, digits, spaces and _%%$@=:/.+,- only: %w", path, loop.ErrInvalid)
	}
	return path, nil
}

// version is a release of tmux: 3.3a is {3, 3}. One that can't be read is that of a development build, and newer than all.
type version struct {
	major, minor int
	text         string
}

var versionPattern = regexp.MustCompile(`(\d+)\.(\d+)`)

func (v version) before(major, minor int) bool {
	return v.major < major || v.major == major && v.minor < minor
}

func (s *Server) askVersion(ctx context.Context) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	res, err := proc.Run(ctx, proc.Cmd{Path: s.binary, Args: []string{"-V"}, Env: s.tmuxEnviron(), Dir: "/", Grace: killGrace})
	if err != nil {
		return version{}, fmt.Errorf("ask %s for its version: %w: %w", s.binary, err, loop.ErrUnavailable)
	}
	text := strings.TrimPrefix(strings.TrimSpace(string(res.Stdout)), "tmux ")
	match := versionPattern.FindStringSubmatch(text)
	if match == nil {
		return version{major: 1 << 16, text: text}, nil
	}
	v := version{text: text}
	v.major, _ = strconv.Atoi(match[1])
	v.minor, _ = strconv.Atoi(match[2])
	if v.before(3, 2) {
		return version{}, tooOld(text, nil)
	}
	return v, nil
}

func tooOld(found string, cause error) error {
	err := fmt.Errorf("tmux 3.2 or newer is required (found: %s). Install: apt install tmux / brew install tmux", found)
	return fmt.Errorf("%w: %w", err, errors.Join(loop.ErrUnavailable, cause))
}

// terminal is what programs in a pane are told to talk to: old terminal databases do not know tmux's own name.
func (s *Server) terminal(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	_, err := proc.Run(ctx, proc.Cmd{Path: "infocmp", Args: []string{"tmux-256color"}, Env: s.tmuxEnviron(), Dir: "/", Grace: killGrace})
	if err != nil {
		return "screen-256color"
	}
	return "tmux-256color"
}

// tmuxEnviron is what every tmux gets, and so every pane: nothing of who happened to start the server.
func (s *Server) tmuxEnviron() []string {
	return pick(s.environ, "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE")
}

func pick(environ []string, names ...string) []string {
	var picked []string
	for _, entry := range environ {
		for _, name := range names {
			if strings.HasPrefix(entry, name+"=") {
				picked = append(picked, entry)
			}
		}
	}
	return picked
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

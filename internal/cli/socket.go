package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/sys/unixsock"
)

// restartWait is how long a command waits for a daemon that may be restarting. A hook does not.
const restartWait = 2 * time.Second

// finder finds the socket that loopd listens on.
type finder struct {
	flags  globals
	getenv func(string) string
	wait   time.Duration
	tell   func(format string, args ...any) // of a daemon that went away and of its return, where set

	sockets   []string // where loopd may listen, best first; none where nothing tells, and tried says why
	configErr error    // why the configuration could not tell of a socket

	mu    sync.Mutex
	found string   // the socket of the last connection; guarded by mu
	tried []string // a line for each socket of the last search, and why not; guarded by mu
	ever  bool     // a daemon was found once; guarded by mu
	away  bool     // and is gone since; guarded by mu
}

// dial connects to the first socket that a daemon of the same user listens on. Where there was one before, it waits a moment
// for a restart to be over.
func (f *finder) dial(ctx context.Context, _ string) (net.Conn, error) {
	if len(f.sockets) == 0 {
		return nil, errNobody
	}
	waiting, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	for {
		conn, again := f.try(ctx)
		if conn != nil {
			return conn, nil
		}
		if !again || waiting.Err() != nil {
			f.gone()
			return nil, errNobody
		}
		select {
		case <-waiting.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

var errNobody = errors.New("no daemon listens")

// try goes through the sockets once. Another try makes sense while there are traces of a daemon at one of them.
func (f *finder) try(ctx context.Context) (conn net.Conn, again bool) {
	var tried []string
	for _, socket := range f.sockets {
		conn, err := connect(ctx, socket)
		if err == nil {
			f.note(socket, nil)
			return conn, false
		}
		tried = append(tried, socket+": "+whyNot(err))
		again = again || errors.Is(err, syscall.ECONNREFUSED) || exists(socket+".lock")
	}
	if ctx.Err() == nil || !f.tells() { // what a try was cut off with says less than what the last whole one met
		f.note("", tried)
	}
	return nil, again
}

// connect connects to a daemon of the same user. The credentials are those of gRPC's own handshake: here they only tell
// sooner, so that the next socket can be tried and the person reads why.
func connect(ctx context.Context, socket string) (net.Conn, error) {
	if err := unixsock.CheckPath(socket); err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	if _, _, err := unixsock.ClientCredentials().ClientHandshake(ctx, "", conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// locate lists where loopd may listen. A configuration in the default place that can't be read must not keep a person from a
// daemon that runs on the last good one. One that was named is another matter, and an error: without it, the daemon that is
// found may be that of another configuration.
func (f *finder) locate() error {
	cfg := config.Default()
	if f.flags.Socket == "" && f.getenv("LOOP_SOCKET") == "" {
		place, err := config.Path(f.flags.ConfigFile, f.getenv)
		if err != nil {
			f.tried = []string{err.Error()}
			return nil //nolint:nilerr // it is told as what was tried, once nothing answers
		}
		if cfg, err = config.Locate(place, f.getenv); err != nil {
			if place.Named {
				return err
			}
			f.configErr, cfg = err, config.Default()
		}
	}
	var err error
	if f.sockets, err = config.Sockets(f.flags.Socket, cfg, f.getenv); err != nil {
		f.tried = []string{err.Error()}
	}
	return nil
}

func (f *finder) note(found string, tried []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found, f.tried = found, tried
	if found == "" {
		return
	}
	if f.away && f.tell != nil {
		f.tell("loopd is back")
	}
	f.ever, f.away = true, false
}

// tells says whether there is something to tell of the last try.
func (f *finder) tells() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tried) > 0
}

// gone notes that no daemon was found within the time that a restart takes.
func (f *finder) gone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ever && !f.away && f.tell != nil {
		f.tell("loopd is away: waiting for it to come back, until Ctrl-C")
	}
	f.away = true
}

// reached says whether a daemon was found last time.
func (f *finder) reached() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found != ""
}

// known says whether a daemon was ever found.
func (f *finder) known() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ever
}

// unreachable says which sockets were tried and how a daemon is started, or that the connection was lost.
func (f *finder) unreachable(detail string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found != "" {
		return fmt.Sprintf("the connection to loopd on %s was lost: %s\nSee its log, and start it with: loopd", f.found, detail)
	}
	said := "loopd cannot be reached. Tried:\n  " + strings.Join(f.tried, "\n  ")
	if f.configErr != nil {
		said += "\nThe configuration may name another socket, but it is wrong:\n  " +
			strings.ReplaceAll(f.configErr.Error(), "\n", "\n  ")
	}
	return said + "\nStart it with: loopd\nOr name the socket of one that runs, with --socket PATH or $LOOP_SOCKET."
}

// whyNot says in a person's words why a socket does not answer.
func whyNot(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such socket"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens: it was left behind by a daemon that is gone"
	}
	return err.Error()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// State answers whether a launch is alive.
type State int

// The five answers. Only Dead and Absent may lead to a new launch.
const (
	Unknown State = iota // tmux did not say: nothing may be concluded
	Live                 // the launch's program runs
	Dead                 // it has ended, and its pane is there
	Foreign              // its pane or its session's name belongs to something else
	Absent               // there is no such pane, and the session's name is free
)

// String returns the answer in one lower-case word.
func (s State) String() string {
	return [...]string{"unknown", "live", "dead", "foreign", "absent"}[s]
}

// Pane is one pane of the server, ours or not.
type Pane struct {
	Session   string
	SessionID string // such as $3
	ID        string // such as %5
	Launch    string // the mark of the launch in it; "" for a pane that is not ours
	Key       string // what the launch said that it is for
	PID       int    // of the program; of one that has ended it may be somebody else's by now
	Dead      bool
	Exit      proc.Exit // how a dead pane's program ended; Code is -1 when it is not known, or a signal ended it
	InMode    bool      // somebody scrolls, or looks at a clock
	InputOff  bool      // somebody disabled input to it
	History   int       // lines above the screen
}

// Target names the launch in the pane.
func (p Pane) Target() Target { return Target{Pane: p.ID, Launch: p.Launch, PID: p.PID} }

// Panes are all panes of the server at one moment.
type Panes []Pane

// Find returns the pane of a launch, wherever a person may have moved it.
func (p Panes) Find(launch string) (Pane, bool) {
	at := slices.IndexFunc(p, func(pane Pane) bool { return launch != "" && pane.Launch == launch })
	if at < 0 {
		return Pane{}, false
	}
	return p[at], true
}

// State says what became of the launch in the session of that name. A launch of "" is none: the answer is then Absent or Foreign.
func (p Panes) State(session, launch string) State {
	pane, found := p.Find(launch)
	switch {
	case found && pane.Dead:
		return Dead
	case found:
		return Live
	case slices.ContainsFunc(p, func(pane Pane) bool { return pane.Session == session }):
		return Foreign
	}
	return Absent
}

// reapPause is how long tmux takes to reap, from a program's end to knowing how it ended.
const reapPause = 20 * time.Millisecond

// Probe returns all panes. Where no server runs, and none of ours lives without its socket, there are none. The error is of the
// class ErrUnknown. A pane is Dead when its program has closed the terminal; how it ended may be known only by a later probe.
func (s *Server) Probe(ctx context.Context) (Panes, error) {
	panes, err := s.listPanes(ctx)
	if err != nil || !slices.ContainsFunc(panes, s.reaping) {
		return panes, err
	}
	// tmux 3.3a loses the news of an end now and then, and keeps the zombie until another child ends: here is one.
	if _, err := s.query(ctx, do("run-shell", "-b", "true")); err != nil {
		return panes, nil //nolint:nilerr // what is known is true, and there will be another probe
	}
	select {
	case <-time.After(reapPause):
		return s.listPanes(ctx)
	case <-ctx.Done():
		return panes, nil
	}
}

// State probes and says what became of the launch; the error only explains an Unknown.
func (s *Server) State(ctx context.Context, session, launch string) (State, error) {
	panes, err := s.Probe(ctx)
	if err != nil {
		return Unknown, err
	}
	return panes.State(session, launch), nil
}

// reaping says whether tmux has seen the end of the pane's output but not yet how its program ended. Before 3.3 it never tells
// of signals.
func (s *Server) reaping(p Pane) bool {
	return p.Dead && p.PID > 0 && p.Exit == proc.Exit{Code: -1} && !s.version.before(3, 3)
}

// paneFields ends in what others can name as they like.
const paneFields = "#{session_id}|#{pane_id}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}|#{pane_pid}|#{pane_in_mode}|" +
	"#{pane_input_off}|#{history_size}|#{@loop_launch}|#{@loop_key}|#{session_name}"

func (s *Server) listPanes(ctx context.Context) (Panes, error) {
	out, err := s.query(ctx, do("list-panes", "-a", "-F", paneFields))
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	var panes Panes
	for line := range strings.Lines(out) {
		pane, err := parsePane(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("probe: %w", unknown(line, err))
		}
		panes = append(panes, pane)
	}
	return panes, nil
}

func parsePane(line string) (Pane, error) {
	f := strings.SplitN(line, "|", strings.Count(paneFields, "|")+1)
	if len(f) != strings.Count(paneFields, "|")+1 || !panePattern.MatchString(f[1]) {
		return Pane{}, errors.New("no description of a pane")
	}
	p := Pane{
		SessionID: f[0], ID: f[1], Dead: f[2] == "1", InMode: f[6] != "0" && f[6] != "", InputOff: f[7] == "1",
		Launch: f[9], Key: f[10], Session: f[11],
	}
	if p.Dead {
		p.Exit = exitOf(f[3], f[4])
	}
	var pidErr, historyErr error
	p.PID, pidErr = strconv.Atoi(f[5])
	p.History, historyErr = strconv.Atoi(f[8])
	return p, errors.Join(pidErr, historyErr)
}

// exitOf reads a status and a signal, of which tmux shows one. A signal is a name on systems whose C library has names.
func exitOf(status, signal string) proc.Exit {
	if n, err := strconv.Atoi(signal); err == nil {
		return proc.Exit{Code: -1, Signal: syscall.Signal(n)}
	}
	if signal != "" {
		return proc.Exit{Code: -1, Signal: unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(signal), "SIG"))}
	}
	if n, err := strconv.Atoi(status); err == nil {
		return proc.Exit{Code: n}
	}
	return proc.Exit{Code: -1}
}

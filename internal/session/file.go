package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// maxSize is more than any session file of ours has.
const maxSize = 1 << 20

var (
	harnessName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	tmuxTarget  = regexp.MustCompile(`^loop-[A-Za-z0-9_-]+$`)
)

// file is a session file in which one bad entry of a list does not spoil the rest.
type file struct {
	*loop.Session
	RecentDeliveries   json.RawMessage `json:"recentDeliveries"`
	PullRequests       json.RawMessage `json:"pullRequests"`
	PreviousSessionIDs json.RawMessage `json:"previousHarnessSessionIds"`
}

// decode reads a session file. What may end up in an argument vector or names a target is checked here, because people and
// programs can write into the file: a bad list entry or tmux target is left out and told as a fault; for the rest the whole
// file is refused.
func decode(data []byte) (s loop.Session, faults []error, err error) {
	f := file{Session: &s}
	if err := json.Unmarshal(data, &f); err != nil {
		return loop.Session{}, nil, fmt.Errorf("it is no session in JSON: %w", err)
	}
	fault := func(err error) { faults = append(faults, err) }
	s.RecentDeliveries = entries(f.RecentDeliveries, "recentDeliveries", fault, func(id loop.DeliveryID) error {
		if id == "" {
			return fmt.Errorf("a delivery without an id: %w", loop.ErrInvalid)
		}
		return nil
	})
	s.PullRequests = entries(f.PullRequests, "pullRequests", fault, func(ref string) error {
		_, err := loop.ParseRef(ref)
		return err
	})
	s.PreviousSessionIDs = entries(f.PreviousSessionIDs, "previousHarnessSessionIds", fault, loop.SessionID.Check)
	if s.TmuxTarget != "" && !tmuxTarget.MatchString(s.TmuxTarget) {
		fault(fmt.Errorf("tmuxTarget %q is none of ours: %w", s.TmuxTarget, loop.ErrInvalid))
		s.TmuxTarget = ""
	}
	s = normal(s)
	if err := check(s); err != nil {
		return loop.Session{}, nil, err
	}
	return s, faults, nil
}

// entries reads a list one by one and leaves out what is not right.
func entries[T any](raw json.RawMessage, name string, fault func(error), ok func(T) error) []T {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		fault(fmt.Errorf("%s: %w", name, err))
		return nil
	}
	var good []T
	for i, one := range all {
		var v T
		err := json.Unmarshal(one, &v)
		if err == nil {
			err = ok(v)
		}
		if err != nil {
			fault(fmt.Errorf("%s, entry %d: %w", name, i+1, err))
			continue
		}
		good = append(good, v)
	}
	return good
}

// check returns ErrInvalid for a session that is not to be acted on.
func check(s loop.Session) error {
	if _, err := loop.ParseRef(s.WorkItem.Ref()); err != nil {
		return err
	}
	if !harnessName.MatchString(s.Harness) {
		return fmt.Errorf("harness %q is no name of one: %w", s.Harness, loop.ErrInvalid)
	}
	if s.HarnessSessionID != "" || s.ConversationAt != nil { // a conversation that has not begun may have no id yet
		if err := s.HarnessSessionID.Check(); err != nil {
			return err
		}
	}
	for _, id := range s.PreviousSessionIDs {
		if err := id.Check(); err != nil {
			return err
		}
	}
	switch {
	case !filepath.IsAbs(s.Cwd) || strings.ContainsRune(s.Cwd, 0):
		return fmt.Errorf("cwd %q is no absolute path: %w", s.Cwd, loop.ErrInvalid)
	case s.Runner != loop.RunnerHeadless && s.Runner != loop.RunnerTmux:
		return fmt.Errorf("runner %q is neither headless nor tmux: %w", s.Runner, loop.ErrInvalid)
	case s.TmuxTarget != "" && !tmuxTarget.MatchString(s.TmuxTarget):
		return fmt.Errorf("tmux target %q is none of ours: %w", s.TmuxTarget, loop.ErrInvalid)
	case s.Status != loop.StatusActive && s.Status != loop.StatusPaused && s.Status != loop.StatusClosed:
		return fmt.Errorf("status %q is none of active, paused and closed: %w", s.Status, loop.ErrInvalid)
	case s.CreatedAt.IsZero():
		return fmt.Errorf("it does not say when it was created: %w", loop.ErrInvalid)
	}
	return nil
}

func encode(s loop.Session) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return b.Bytes(), err
}

// normal is the session as it is read again: times without the monotonic clock, lists that are there.
func normal(s loop.Session) loop.Session {
	s = clone(s)
	s.CreatedAt = s.CreatedAt.UTC().Round(0)
	for _, at := range []*time.Time{s.LastEventAt, s.ConversationAt, s.PausedAt, s.ClosedAt} {
		if at != nil {
			*at = at.UTC().Round(0)
		}
	}
	if s.RecentDeliveries == nil {
		s.RecentDeliveries = []loop.DeliveryID{}
	}
	if s.PullRequests == nil {
		s.PullRequests = []string{}
	}
	return s
}

// clone shares nothing that could be changed.
func clone(s loop.Session) loop.Session {
	for _, at := range []**time.Time{&s.LastEventAt, &s.ConversationAt, &s.PausedAt, &s.ClosedAt} {
		if *at != nil {
			*at = new(**at)
		}
	}
	s.RecentDeliveries = slices.Clone(s.RecentDeliveries)
	s.PullRequests = slices.Clone(s.PullRequests)
	s.PreviousSessionIDs = slices.Clone(s.PreviousSessionIDs)
	return s
}

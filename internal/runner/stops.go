package runner

import (
	"sync"

	"github.com/loop-daemon/loop/internal/loop"
)

// stops lets runs be given up that wait for a word of a harness.
type stops struct {
	mu   sync.Mutex
	runs map[loop.RunID]chan struct{} // guarded by mu
}

// add makes a run one that stop ends, until done is called.
func (s *stops) add(run loop.RunID) (stopped <-chan struct{}, done func()) {
	c := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs == nil {
		s.runs = map[loop.RunID]chan struct{}{}
	}
	s.runs[run] = c
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.runs, run)
	}
}

// stop has a run given up, and reports whether there is one to be.
func (s *stops) stop(run loop.RunID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.runs[run]
	if !ok {
		return false
	}
	select {
	case <-c:
	default:
		close(c)
	}
	return true
}

// isDone reports whether a channel that is only ever closed has been.
func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

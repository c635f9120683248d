package dispatch

import (
	"context"
	"slices"
	"sync"
)

// slots bounds how many runs go on at a time. Who asks first gets the next free one. The bound is asked for each time, so
// it follows the configuration.
type slots struct {
	max func() int

	mu    sync.Mutex
	used  int
	queue []chan struct{} // closed when its owner has a slot
}

// acquire waits for a slot and reports whether it has one: false when ctx ended first.
func (s *slots) acquire(ctx context.Context) bool {
	s.mu.Lock()
	if s.used < s.max() && len(s.queue) == 0 {
		s.used++
		s.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	s.mu.Unlock()
	s.admit() // the bound may have been raised since
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, turn)
	if i < 0 {
		return true // it came at the same moment
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	return false
}

// force takes a slot beyond the bound, for a run that is going on already.
func (s *slots) force() {
	s.mu.Lock()
	s.used++
	s.mu.Unlock()
}

func (s *slots) release() {
	s.mu.Lock()
	s.used--
	s.mu.Unlock()
	s.admit()
}

// admit gives free slots to those who wait.
func (s *slots) admit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 && s.used < s.max() {
		s.used++
		close(s.queue[0])
		s.queue = s.queue[1:]
	}
}

package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v89/github"

	"github.com/loop-daemon/loop/internal/loop"
)

const (
	writeSpacing = time.Second     // between two writes
	firstPause   = time.Minute     // for a limit without a time, doubled each time that it is met again
	longestGuess = 2 * time.Hour   // of one without a time: the longest limit of GitHub's is an hour
	longestPause = 24 * time.Hour  // whatever an answer asks for
	resetMargin  = 1 * time.Second // clocks of one second's grain
)

// LimitError says that a host wants no requests for now. It is of the class loop.ErrUnavailable.
type LimitError struct {
	Host  string    // "" is github.com
	Until time.Time // when it may be asked again
}

// Error names the host and the time.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s limits our requests: it is asked again at %s", display(e.Host), e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns loop.ErrUnavailable.
func (e *LimitError) Unwrap() error { return loop.ErrUnavailable }

// limit holds back the requests to one host, for all of its repositories.
type limit struct {
	host string

	mu      sync.Mutex // guards the rest
	until   time.Time
	strikes int // limits without a time in a row
	write   time.Time
}

// paused returns when the host may be asked again, zero for now.
func (l *limit) paused() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !time.Now().Before(l.until) {
		return time.Time{}
	}
	return l.until
}

// wait returns when a request may be sent: at once or, for one that writes, when a second has passed since the last. It does
// not wait for a limit to end.
func (l *limit) wait(ctx context.Context, writes bool) error {
	if until := l.paused(); !until.IsZero() {
		return &LimitError{Host: l.host, Until: until}
	}
	if !writes {
		return nil
	}
	l.mu.Lock()
	rest := time.Until(l.write)
	l.mu.Unlock()
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return fmt.Errorf("wait to write to %s: %w", display(l.host), context.Cause(ctx))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write = time.Now().Add(writeSpacing)
	return nil
}

// noted is what an answer says of a limit.
type noted struct {
	limited bool      // the request itself was turned away
	until   time.Time // when the host may be asked again; zero where the answer does not limit anything
	later   bool      // than was known before
}

// note learns from an answer.
func (l *limit) note(status int, header http.Header, err error) noted {
	now := time.Now().Round(0) // by the wall: a machine that sleeps is not limited for longer
	l.mu.Lock()
	defer l.mu.Unlock()
	limited := isLimit(status, header, err)
	pause, known := asked(header, now)
	switch {
	case limited && !known:
		pause = min(firstPause<<min(l.strikes, 10), longestGuess)
		l.strikes++
	case limited:
	case status == 0:
		return noted{}
	case !known: // missing headers are not «nothing left»: enterprise hosts count nothing
		if status < http.StatusBadRequest {
			l.strikes = 0
		}
		return noted{}
	}
	end := now.Add(pause)
	later := end.After(l.until)
	if later {
		l.until = end
	}
	return noted{limited, l.until, later}
}

// isLimit reports whether an answer turns a request away for there having been too many.
func isLimit(status int, header http.Header, err error) bool {
	if _, ok := errors.AsType[*gh.RateLimitError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*gh.AbuseRateLimitError](err); ok {
		return true
	}
	if status == http.StatusTooManyRequests {
		return true
	}
	refusal, ok := errors.AsType[*gh.ErrorResponse](err)
	if !ok {
		return false
	}
	if status == http.StatusForbidden {
		return header.Get("Retry-After") != "" || strings.Contains(strings.ToLower(refusal.Message), "rate limit")
	}
	return status >= http.StatusInternalServerError && header.Get("Retry-After") != ""
}

// asked returns how long an answer wants us to wait, within reason: what Retry-After says or, when nothing is left, until the
// reset. Both are reckoned by the clock of the one who answered.
func asked(header http.Header, now time.Time) (pause time.Duration, ok bool) {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	if after := header.Get("Retry-After"); after != "" {
		if seconds, err := strconv.Atoi(after); err == nil && seconds >= 0 {
			return time.Duration(min(seconds, int(longestPause/time.Second))) * time.Second, true
		}
		if at, err := http.ParseTime(after); err == nil {
			return within(at.Sub(now)), true
		}
	}
	if header.Get(gh.HeaderRateRemaining) == "0" {
		if reset, err := strconv.ParseInt(header.Get(gh.HeaderRateReset), 10, 64); err == nil {
			reset = min(reset, now.Add(longestPause).Unix()) // there are numbers that no time can hold
			return within(within(time.Unix(reset, 0).Sub(now)) + resetMargin), true
		}
	}
	return 0, false
}

func within(pause time.Duration) time.Duration { return min(max(pause, 0), longestPause) }

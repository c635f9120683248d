package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Prune forgets how far was read what was not touched for keepDays, inbox.MinKeepDays at least: items that were closed,
// repositories that are not asked about any more with all of theirs, and webhooks that were not looked at. It returns how many
// items. What is followed stays. What comes back is as if it was never seen: only what happens from then on is news.
func (p *Poller) Prune(ctx context.Context, now time.Time, keepDays int) (int, error) {
	before := journal.Micros(now.AddDate(0, 0, -max(keepDays, inbox.MinKeepDays)))
	closed, err := p.keys(ctx, "SELECT key FROM poll_item WHERE closed AND told < ?", before)
	if err != nil {
		return 0, err
	}
	closed = slices.DeleteFunc(closed, p.isWorkedOn)
	repos, err := p.keys(ctx, "SELECT name FROM poll_repo WHERE cursor < ?", before)
	if err != nil {
		return 0, err
	}
	repos = slices.DeleteFunc(repos, func(name string) bool { return p.isAsked(name, journal.Moment(before)) })
	var n int64
	err = p.Journal.Write(ctx, func(tx *journal.Tx) error {
		n = 0
		remove := func(query string, args ...any) error {
			res, err := tx.Exec(query, args...)
			if err != nil {
				return fmt.Errorf("forget how far was polled: %w", err)
			}
			rows, err := res.RowsAffected()
			n += rows
			return err
		}
		for _, key := range closed {
			if err := remove("DELETE FROM poll_item WHERE key = ? AND told < ?", key, before); err != nil {
				return err
			}
		}
		for _, name := range repos {
			if err := remove("DELETE FROM poll_item WHERE instr(key, ?) > 0", ":"+name+"#"); err != nil {
				return err
			}
			if _, err := tx.Exec("DELETE FROM poll_repo WHERE name = ?", name); err != nil {
				return fmt.Errorf("forget how far %s was polled: %w", name, err)
			}
		}
		return forgetMissed(tx, before)
	})
	return int(n), err
}

// isWorkedOn reports whether a session that is not closed works on an item.
func (p *Poller) isWorkedOn(key string) bool {
	return slices.ContainsFunc(p.Sessions(), func(s loop.Session) bool { return s.Open() && string(s.WorkItem.Key()) == key })
}

// isAsked reports whether a repository is asked about, or was after a time.
func (p *Poller) isAsked(name string, after time.Time) bool {
	if slices.ContainsFunc(p.targets(), func(t target) bool { return t.key() == name }) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.paces[name]
	return last != nil && last.At.After(after)
}

func (p *Poller) keys(ctx context.Context, query string, args ...any) (keys []string, err error) {
	rows, err := p.Journal.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read how far was polled: %w", p.Journal.Explain(err))
	}
	defer rows.Close() //nolint:errcheck // Err below says what went wrong
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

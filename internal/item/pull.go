package item

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Pull is what is known of a pull request.
type Pull struct {
	Item     loop.WorkItem
	HeadSHA  string    // "" unknown
	HeadRef  string    // the branch; "" unknown
	HeadRepo loop.Repo // zero where it is unknown or gone
	Open     bool
	SeenAt   time.Time // when this was so, as the event says
	Acted    bool      // an authorized person did something on it
}

// See remembers how a pull request stands at p.SeenAt, unless a later state is known. Acted is not touched: it is for Act.
func (s *Store) See(tx *journal.Tx, p Pull) error {
	h := p.HeadRepo
	_, err := tx.Exec("INSERT INTO pull (key, ref, repo, head_sha, head_ref, head_host, head_owner, head_name, head_repo_id, open, "+
		"seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET ref = excluded.ref, "+
		"head_sha = excluded.head_sha, head_ref = excluded.head_ref, head_host = excluded.head_host, head_owner = excluded.head_owner, "+
		"head_name = excluded.head_name, head_repo_id = excluded.head_repo_id, open = excluded.open, seen_at = excluded.seen_at "+
		"WHERE excluded.seen_at >= seen_at",
		p.Item.Key(), p.Item.Ref(), repoKey(p.Item.Host, p.Item.Owner, p.Item.Repo), p.HeadSHA, p.HeadRef, h.Host, h.Owner, h.Name, h.ID,
		p.Open, journal.Micros(p.SeenAt))
	if err != nil {
		return fmt.Errorf("remember how %s stands: %w", p.Item, err)
	}
	return nil
}

// Act remembers that an authorized person did something on a pull request. It is not forgotten.
func (s *Store) Act(tx *journal.Tx, pull loop.WorkItem) error {
	_, err := tx.Exec("INSERT INTO pull (key, ref, repo, acted) VALUES (?, ?, ?, 1) ON CONFLICT (key) DO UPDATE SET acted = 1",
		pull.Key(), pull.Ref(), repoKey(pull.Host, pull.Owner, pull.Repo))
	if err != nil {
		return fmt.Errorf("remember who acted on %s: %w", pull, err)
	}
	return nil
}

const selectPull = "SELECT ref, head_sha, head_ref, head_host, head_owner, head_name, head_repo_id, open, seen_at, acted FROM pull "

// Pull returns what is known of a pull request, and whether anything is.
func (s *Store) Pull(ctx context.Context, pull loop.WorkItem) (Pull, bool, error) {
	p, err := scanPull(s.db.Read().QueryRowContext(ctx, selectPull+"WHERE key = ?", pull.Key()))
	if errors.Is(err, sql.ErrNoRows) {
		return Pull{}, false, nil
	}
	if err != nil {
		return Pull{}, false, s.explain(fmt.Errorf("read what is known of %s: %w", pull, err))
	}
	return p, true, nil
}

// ByHead returns the pull requests of a repository that have a commit as their head. Where there is none, it returns the
// open ones that come from a branch of a head repository, if both are given: never by the branch alone. They are in the
// order of their numbers.
func (s *Store) ByHead(ctx context.Context, repo loop.Repo, sha string, head loop.Repo, branch string) ([]Pull, error) {
	here := repoKey(repo.Host, repo.Owner, repo.Name)
	found, err := s.pulls(ctx, "WHERE head_sha = ? AND head_sha <> '' AND repo = ? ORDER BY length(key), key", sha, here)
	if err != nil || len(found) > 0 || branch == "" || head.Owner == "" {
		return found, err
	}
	named, err := s.pulls(ctx, "WHERE repo = ? AND head_ref = ? AND head_ref <> '' AND open = 1 ORDER BY length(key), key", here, branch)
	for _, p := range named {
		if p.HeadRepo.Same(head) {
			found = append(found, p)
		}
	}
	return found, err
}

// Link is the bond of a pull request to an item.
type Link struct {
	Item     loop.WorkItem
	Declared bool // by the item's session; else it was used once
	At       time.Time
}

// Link remembers that a pull request belongs to an item. It outlives what the link rested on, such as a body that is edited;
// one that was declared stays so.
func (s *Store) Link(tx *journal.Tx, pull loop.WorkItem, l Link) error {
	_, err := tx.Exec("INSERT INTO link (pull, item, ref, declared, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "+
		"SET declared = declared OR excluded.declared", pull.Key(), l.Item.Key(), l.Item.Ref(), l.Declared, journal.Micros(l.At))
	if err != nil {
		return fmt.Errorf("remember that %s belongs to %s: %w", pull, l.Item, err)
	}
	return nil
}

// Links returns the items that a pull request belongs to, the declared ones first, then the older before the younger.
func (s *Store) Links(ctx context.Context, pull loop.WorkItem) ([]Link, error) {
	var links []Link
	err := s.each(ctx, func(rows *sql.Rows) error {
		var l Link
		var ref string
		var at int64
		err := rows.Scan(&ref, &l.Declared, &at)
		if err == nil {
			l.Item, err = loop.ParseRef(ref)
		}
		l.At = journal.Moment(at)
		links = append(links, l)
		return err
	}, "SELECT ref, declared, at FROM link WHERE pull = ? ORDER BY declared DESC, at, item", pull.Key())
	return links, err
}

// OpenPulls returns the pull requests that belong to an item and are known to be open, in the order of their numbers.
func (s *Store) OpenPulls(ctx context.Context, w loop.WorkItem) ([]Pull, error) {
	return s.pulls(ctx, "WHERE open = 1 AND key IN (SELECT pull FROM link WHERE item = ?) ORDER BY length(key), key", w.Key())
}

func (s *Store) pulls(ctx context.Context, where string, args ...any) ([]Pull, error) {
	var all []Pull
	err := s.each(ctx, func(rows *sql.Rows) error {
		p, err := scanPull(rows)
		all = append(all, p)
		return err
	}, selectPull+where, args...)
	return all, err
}

// each calls f for every row of the answer.
func (s *Store) each(ctx context.Context, f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := s.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return s.explain(fmt.Errorf("read pull requests: %w", err))
	}
	defer rows.Close() //nolint:errcheck // Err below says what went wrong
	for rows.Next() {
		if err := f(rows); err != nil {
			return s.explain(fmt.Errorf("read pull requests: %w", err))
		}
	}
	if err := rows.Err(); err != nil {
		return s.explain(fmt.Errorf("read pull requests: %w", err))
	}
	return nil
}

func scanPull(from interface{ Scan(dest ...any) error }) (Pull, error) {
	var p Pull
	var ref string
	var seen int64
	h := &p.HeadRepo
	err := from.Scan(&ref, &p.HeadSHA, &p.HeadRef, &h.Host, &h.Owner, &h.Name, &h.ID, &p.Open, &seen, &p.Acted)
	if err != nil {
		return p, err
	}
	p.SeenAt = journal.Moment(seen)
	p.Item, err = loop.ParseRef(ref)
	return p, err
}

func repoKey(host, owner, name string) string {
	return strings.ToLower(host + "/" + owner + "/" + name)
}

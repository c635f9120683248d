package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Schema makes the tables of the package.
func Schema() journal.Schema {
	return journal.Schema{Name: "outbox", Steps: []string{`
		CREATE TABLE letter (
			seq      INTEGER PRIMARY KEY AUTOINCREMENT,
			key      TEXT    NOT NULL UNIQUE,
			topic    TEXT    NOT NULL,
			ref      TEXT    NOT NULL,
			host     TEXT    NOT NULL,
			text     TEXT    NOT NULL,
			comment  INTEGER NOT NULL,
			inline   INTEGER NOT NULL,
			delivery TEXT    NOT NULL,
			state    TEXT    NOT NULL,
			tries    INTEGER NOT NULL DEFAULT 0,
			made_at  INTEGER NOT NULL,           -- all times: microseconds since 1970
			ended_at INTEGER NOT NULL DEFAULT 0, -- 0: it has not
			url      TEXT    NOT NULL DEFAULT '',
			error    TEXT    NOT NULL DEFAULT ''
		) STRICT;
		CREATE INDEX letter_open ON letter (host, seq) WHERE ended_at = 0;
		CREATE INDEX letter_topic ON letter (topic, host, seq) WHERE ended_at <> 0;
		CREATE TABLE posted (
			host    TEXT    NOT NULL,
			comment INTEGER NOT NULL,
			PRIMARY KEY (host, comment)
		) STRICT, WITHOUT ROWID`}}
}

const columns = "seq, key, topic, ref, text, comment, inline, delivery, state, tries, made_at, url, error"

func scan(row interface{ Scan(...any) error }) (Entry, error) {
	var e Entry
	var ref string
	var made int64
	err := row.Scan(&e.seq, &e.Key, &e.Topic, &ref, &e.Text, &e.Comment, &e.Inline, &e.Delivery, &e.State, &e.tries, &made, &e.URL, &e.Error)
	if err != nil {
		return Entry{}, err
	}
	e.MadeAt = time.UnixMicro(made).UTC()
	e.Item, err = loop.ParseRef(ref)
	return e, err
}

// Put owes letters, as a part of a write. One whose key was put before changes nothing.
func (o *Outbox) Put(tx *journal.Tx, letters ...Letter) error {
	if o == nil {
		return nil
	}
	for _, l := range letters {
		_, err := tx.Exec("INSERT INTO letter (key, topic, ref, host, text, comment, inline, delivery, state, made_at) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
			l.Key, l.Topic, l.Item.Ref(), l.Item.Host, l.Text, l.Comment, l.Inline, l.Delivery, Owed, time.Now().UnixMicro())
		if err != nil {
			return fmt.Errorf("owe a %s to %s: %w", l.Topic, l.Item, err)
		}
	}
	if len(letters) > 0 {
		tx.OnCommit(o.tell)
	}
	return nil
}

// Posted reports whether a comment on a host ("" is github.com) is one that Loop has posted.
func (o *Outbox) Posted(ctx context.Context, host string, comment int64) (bool, error) {
	if o == nil || comment == 0 {
		return false, nil
	}
	var is bool
	err := o.Journal.Read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM posted WHERE host = ? AND comment = ?)", host, comment).Scan(&is)
	if err != nil {
		return false, o.explain(fmt.Errorf("look whose comment %d is: %w", comment, err))
	}
	return is, nil
}

// Doubtful reports whether an announcement of ours may be on an item without our knowing the number of its comment.
func (o *Outbox) Doubtful(ctx context.Context, w loop.WorkItem) (bool, error) {
	if o == nil {
		return false, nil
	}
	var is bool
	err := o.Journal.Read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM letter WHERE ref = ? COLLATE NOCASE AND topic = ? AND state IN (?, ?))",
		w.Ref(), Announcement, Sending, Unclear).Scan(&is)
	if err != nil {
		return false, o.explain(fmt.Errorf("look for announcements on %s: %w", w, err))
	}
	return is, nil
}

// Prune removes letters that ended more than keepDays ago, and returns how many. What was posted stays known as ours, and so does an
// announcement that may have been: on its item it would be taken for another Loop's.
func (o *Outbox) Prune(ctx context.Context, now time.Time, keepDays int) (int, error) {
	var n int64
	err := o.Journal.Write(ctx, func(tx *journal.Tx) error {
		res, err := tx.Exec("DELETE FROM letter WHERE ended_at BETWEEN 1 AND ? AND NOT (topic = ? AND state = ?)",
			now.AddDate(0, 0, -keepDays).UnixMicro(), Announcement, Unclear)
		if err != nil {
			return fmt.Errorf("forget what was posted long ago: %w", err)
		}
		n, err = res.RowsAffected()
		return err
	})
	return int(n), err
}

// owing returns the hosts to which something is owed.
func (o *Outbox) owing(ctx context.Context) (hosts []string, err error) {
	rows, err := o.Journal.Read().QueryContext(ctx, "SELECT DISTINCT host FROM letter WHERE ended_at = 0 AND state = ?", Owed)
	if err != nil {
		return nil, o.Journal.Explain(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var host string
		if err := rows.Scan(&host); err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts, rows.Err()
}

// begin writes of the next letter of a host that it is about to be sent, and gives up those that are too old. It is false when
// there is none.
func (o *Outbox) begin(ctx context.Context, host string) (e Entry, ok bool, err error) {
	err = o.Journal.Write(ctx, func(tx *journal.Tx) error {
		for {
			e, err = scan(tx.QueryRow("SELECT "+columns+" FROM letter WHERE ended_at = 0 AND host = ? AND state = ? ORDER BY seq LIMIT 1", host, Owed))
			switch {
			case errors.Is(err, sql.ErrNoRows):
				return nil
			case err != nil:
				return err
			}
			if time.Since(e.MadeAt) > patience {
				e.State, e.Error = Failed, "it could not be posted within a day: "+e.Error
				if err := o.write(tx, e); err != nil {
					return err
				}
				continue
			}
			ok, e.State, e.tries = true, Sending, e.tries+1
			_, err = tx.Exec("UPDATE letter SET state = ?, tries = ? WHERE seq = ?", e.State, e.tries, e.seq)
			return err
		}
	})
	if ctx.Err() != nil {
		return Entry{}, false, nil
	}
	return e, ok, err
}

// end writes what became of a letter that was sent, and tells who waits for it.
func (o *Outbox) end(ctx context.Context, e Entry, r Receipt) error {
	return o.Journal.Write(context.WithoutCancel(ctx), func(tx *journal.Tx) error {
		if r.ID != 0 {
			if _, err := tx.Exec("INSERT INTO posted (host, comment) VALUES (?, ?) ON CONFLICT DO NOTHING", e.Item.Host, r.ID); err != nil {
				return fmt.Errorf("remember a comment of ours: %w", err)
			}
		}
		return o.write(tx, e)
	})
}

// write writes the state of a letter, with its event where it has ended.
func (o *Outbox) write(tx *journal.Tx, e Entry) error {
	var ended int64
	if e.State.final() {
		ended = time.Now().UnixMicro()
		tx.OnCommit(func() { o.answer(e) })
	}
	first, err := o.firstOfItsKind(tx, e)
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE letter SET state = ?, ended_at = ?, url = ?, error = ? WHERE seq = ?", e.State, ended, e.URL, e.Error, e.seq)
	if err != nil {
		return fmt.Errorf("write what became of a %s: %w", e.Topic, err)
	}
	if !first {
		return nil
	}
	return o.Report(tx, e.event())
}

// firstOfItsKind reports whether the end of a letter is news: every comment is, and of what fails for one reason the first.
func (o *Outbox) firstOfItsKind(tx *journal.Tx, e Entry) (bool, error) {
	switch {
	case !e.State.final(), e.Topic == Reaction && e.State == Posted:
		return false, nil
	case e.Topic != Reaction && e.State != Mute:
		return true, nil
	}
	var before State
	var why string
	err := tx.QueryRow("SELECT state, error FROM letter WHERE ended_at <> 0 AND topic = ? AND host = ? ORDER BY seq DESC LIMIT 1",
		e.Topic, e.Item.Host).Scan(&before, &why)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("look at what became of the last %s: %w", e.Topic, err)
	}
	return e.State != Mute && (before != e.State || why != e.Error), nil
}

// settle sees to what an earlier loopd was about to send when it ended. Whether a comment is there nobody can say.
func (o *Outbox) settle(ctx context.Context) error {
	err := o.Journal.Write(ctx, func(tx *journal.Tx) error {
		_, err := tx.Exec("UPDATE letter SET state = ? WHERE ended_at = 0 AND state = ? AND topic = ?", Owed, Sending, Reaction)
		if err != nil {
			return err
		}
		rows, err := tx.Query("SELECT "+columns+" FROM letter WHERE ended_at = 0 AND state = ?", Sending)
		if err != nil {
			return err
		}
		cut, err := all(rows)
		for i := 0; i < len(cut) && err == nil; i++ {
			cut[i].State, cut[i].Error = Unclear, "loopd ended while it was being posted"
			err = o.write(tx, cut[i])
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("settle what was being posted: %w", err)
	}
	return nil
}

// all reads and closes rows.
func all(rows *sql.Rows) (entries []Entry, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// explain puts what the journal could not do into the class that callers know.
func (o *Outbox) explain(err error) error {
	if err = o.Journal.Explain(err); journal.Unavailable(err) {
		return fmt.Errorf("%w: %w", err, loop.ErrUnavailable)
	}
	return err
}

package inbox

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/klauspost/compress/s2"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Schema makes the tables of the inbox. The body stands last in its row, so that nothing else is read through it.
func Schema() journal.Schema {
	return journal.Schema{Name: "inbox", Steps: []string{`
		CREATE TABLE delivery (
			seq         INTEGER PRIMARY KEY,
			key         BLOB    NOT NULL UNIQUE, -- 16 bytes that stand for the id
			id          TEXT    NOT NULL,
			source      TEXT    NOT NULL,
			kind        TEXT    NOT NULL,
			host        TEXT    NOT NULL,
			hook        TEXT    NOT NULL,
			received_at INTEGER NOT NULL,        -- all times: microseconds since 1970, 0 is none
			state       TEXT    NOT NULL,
			reason      TEXT    NOT NULL,
			error       TEXT    NOT NULL,
			item        TEXT    NOT NULL,
			item_key    TEXT    NOT NULL,        -- the item in lower case
			decision    TEXT    NOT NULL,
			closures    TEXT    NOT NULL,        -- JSON
			fact        TEXT    NOT NULL,
			attempts    INTEGER NOT NULL,
			due_at      INTEGER NOT NULL,
			run         TEXT    NOT NULL,
			summary     TEXT    NOT NULL,
			ended_at    INTEGER NOT NULL,
			body        BLOB                     -- a byte that says how it is packed, and the packed body
		) STRICT;
		CREATE INDEX delivery_state ON delivery (state);
		CREATE INDEX delivery_item ON delivery (item_key) WHERE item_key <> '';
		CREATE TABLE fact (
			key      TEXT PRIMARY KEY,
			delivery TEXT    NOT NULL,
			at       INTEGER NOT NULL
		) STRICT, WITHOUT ROWID;
		CREATE TABLE run (
			id         TEXT    PRIMARY KEY,
			item       TEXT    NOT NULL,
			item_key   TEXT    NOT NULL,
			harness    TEXT    NOT NULL,
			session_id TEXT    NOT NULL,
			fresh      INTEGER NOT NULL,
			deliveries TEXT    NOT NULL, -- JSON
			started_at INTEGER NOT NULL,
			ended_at   INTEGER NOT NULL,
			kind       TEXT    NOT NULL,
			outcome    TEXT    NOT NULL  -- JSON
		) STRICT, WITHOUT ROWID;
		CREATE INDEX run_item ON run (item_key, started_at);
		CREATE INDEX run_open ON run (started_at) WHERE ended_at = 0`, `
		-- so that Prune reads what it removes, and not every page with a body
		CREATE INDEX delivery_ended ON delivery (ended_at) WHERE ended_at > 0`, `
		DROP INDEX run_open -- nobody asks for the open runs any more: each running delivery names its own`}}
}

const (
	columns = "seq, id, source, kind, host, hook, received_at, state, reason, error, item, decision, closures, fact, " +
		"attempts, due_at, run, summary, ended_at"
	selectByKey = "SELECT " + columns + " FROM delivery WHERE key = ?"
)

// row is a delivery as it stands in its table, but for the body.
type row struct {
	loop.Delivery
	item, closures string
}

func newRow(d loop.Delivery) (row, error) {
	r := row{Delivery: d, item: d.Item.Ref()}
	var err error
	r.closures, err = encodeClosures(d.Closures)
	return r, err
}

// insert reports false when the id is there already.
func (r row) insert(tx *journal.Tx, body Packed) (bool, error) {
	result, err := tx.Exec("INSERT INTO delivery (key, id, source, kind, host, hook, received_at, state, reason, error, item, "+
		"item_key, decision, closures, fact, attempts, due_at, run, summary, ended_at, body) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
		key(r.ID), r.ID, r.Source, r.Kind, r.Host, r.HookID, journal.Micros(r.ReceivedAt), r.State, r.Reason, r.Error, r.item,
		r.Item.Key(), r.Decision, r.closures, r.Fact, r.Attempts, journal.Micros(r.DueAt), r.Run, r.Summary, journal.Micros(r.EndedAt), []byte(body))
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

type scanner interface{ Scan(dest ...any) error }

// get reads the columns of one delivery.
func get(from scanner) (loop.Delivery, error) {
	var d loop.Delivery
	var received, due, ended int64
	var item, closures string
	err := from.Scan(&d.Seq, &d.ID, &d.Source, &d.Kind, &d.Host, &d.HookID, &received, &d.State, &d.Reason, &d.Error, &item,
		&d.Decision, &closures, &d.Fact, &d.Attempts, &due, &d.Run, &d.Summary, &ended)
	if err != nil {
		return d, err
	}
	d.ReceivedAt, d.DueAt, d.EndedAt = journal.Moment(received), journal.Moment(due), journal.Moment(ended)
	if d.Item, err = parseItem(item); err != nil {
		return d, fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	if d.Closures, err = decodeClosures(closures); err != nil {
		return d, fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	return d, nil
}

func parseItem(ref string) (loop.WorkItem, error) {
	if ref == "" {
		return loop.WorkItem{}, nil
	}
	return loop.ParseRef(ref)
}

func encodeClosures(closures []loop.Closure) (string, error) {
	if len(closures) == 0 {
		return "", nil
	}
	b, err := json.Marshal(closures)
	return string(b), err
}

func decodeClosures(s string) (closures []loop.Closure, err error) {
	if s != "" {
		err = json.Unmarshal([]byte(s), &closures)
	}
	return closures, err
}

// key stands for an id in the index. A UUID is its own sixteen bytes, one of version 1 with its time first, because ids that
// rise with time touch fewer pages; another text is hashed.
func key(id loop.DeliveryID) []byte {
	text := string(id)
	if u, err := uuid.Parse(text); err == nil && len(text) == 36 {
		if u.Version() == 1 {
			return append(append(append(append([]byte{}, u[6:8]...), u[4:6]...), u[0:4]...), u[8:]...)
		}
		return u[:]
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:16]
}

// The first byte of a body says how the rest is packed.
const (
	plain  = 0
	packed = 1 // s2
)

// Packed is a body as it is kept.
type Packed []byte

// maxScratch is the size of the largest buffer that is kept for the next body.
const maxScratch = 2 << 20

// Pack makes a body small. It keeps nothing of the body itself.
func (in *Inbox) Pack(body []byte) Packed {
	scratch, _ := in.scratch.Get().(*[]byte)
	if scratch == nil {
		scratch = new([]byte)
	}
	*scratch = slices.Grow((*scratch)[:0], 1+s2.MaxEncodedLen(len(body)))
	out := (*scratch)[:cap(*scratch)]
	small := s2.Encode(out[1:], body)
	out[0] = packed
	out = out[:1+len(small)]
	if len(small) >= len(body) {
		out = append(append(out[:0], plain), body...)
	}
	result := slices.Clone(out)
	if cap(*scratch) <= maxScratch {
		in.scratch.Put(scratch)
	}
	return result
}

func unpack(body []byte) ([]byte, error) {
	switch {
	case len(body) > 0 && body[0] == plain:
		return body[1:], nil
	case len(body) > 0 && body[0] == packed:
		return s2.Decode(nil, body[1:])
	}
	return nil, fmt.Errorf("body of %d bytes that is packed in no known way", len(body))
}

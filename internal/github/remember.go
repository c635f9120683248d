package github

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/s2"

	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Schema makes the tables of what is remembered: answers, and until when hosts want no requests.
func Schema() journal.Schema {
	return journal.Schema{Name: "github", Steps: []string{`
		CREATE TABLE answer (
			question BLOB    PRIMARY KEY, -- stands for address without its since, media type and token
			url      TEXT    NOT NULL,
			etag     TEXT    NOT NULL,
			modified TEXT    NOT NULL,    -- Last-Modified
			link     TEXT    NOT NULL,    -- where the next page is
			used_at  INTEGER NOT NULL,    -- microseconds since 1970
			body     BLOB    NOT NULL     -- packed
		) STRICT, WITHOUT ROWID;
		CREATE INDEX answer_used ON answer (used_at)`, `
		CREATE TABLE host_limit (
			host  TEXT    PRIMARY KEY, -- '' is github.com
			until INTEGER NOT NULL     -- microseconds since 1970
		) STRICT, WITHOUT ROWID`}}
}

// Forget removes what was remembered of questions that have not been asked since a time.
func Forget(tx *journal.Tx, since time.Time) error {
	for _, query := range []string{"DELETE FROM answer WHERE used_at < ?", "DELETE FROM host_limit WHERE until < ?"} {
		if _, err := tx.Exec(query, since.UnixMicro()); err != nil {
			return fmt.Errorf("forget old answers of GitHub: %w", err)
		}
	}
	return nil
}

// fromJournal is set in an answer whose body is the one that was remembered.
const fromJournal = "X-From-Cache"

// usedGrain is how exactly it is known when an answer was last used: to write that each time would cost more than it saves.
const usedGrain = 24 * time.Hour

// journalTimeout is how long a request waits for what is said of a limit to be read or written.
const journalTimeout = 5 * time.Second

// remembering asks again for what it knows with the validators that came with it, and answers «not modified» with the body
// that it kept. A host counts no such request against the limit. An answer belongs to the token that it was given to.
//
// Of questions that differ in their since alone one answer is kept, the last: a cursor that has moved on never comes back.
type remembering struct {
	db   *journal.DB
	log  *slog.Logger
	next http.RoundTripper
}

// kept is an answer as it was remembered.
type kept struct {
	url, etag, modified, link string
	used                      time.Time
	body                      []byte // packed
}

// RoundTrip implements http.RoundTripper.
func (r *remembering) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return r.next.RoundTrip(req)
	}
	ctx, key := req.Context(), question(req)
	old := r.recall(ctx, key, req.URL.String())
	if old.url != "" {
		req = req.Clone(ctx)
		set(req.Header, "If-None-Match", old.etag)
		set(req.Header, "If-Modified-Since", old.modified)
	}
	resp, err := r.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotModified && old.url != "":
		return r.again(ctx, key, resp, old)
	case resp.StatusCode == http.StatusOK:
		if err := r.keep(ctx, key, resp); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// question identifies what is asked, by whom and in which form.
func question(req *http.Request) []byte {
	u := *req.URL
	query := u.Query()
	query.Del("since")
	u.RawQuery = query.Encode()
	token := sha256.Sum256([]byte(req.Header.Get("Authorization")))
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%x", u.String(), req.Header.Get("Accept"), token))
	return sum[:16]
}

// recall returns the answer to the very address, the zero one where there is none.
func (r *remembering) recall(ctx context.Context, key []byte, address string) kept {
	var k kept
	var used int64
	err := r.db.Read().QueryRowContext(ctx, "SELECT url, etag, modified, link, used_at, body FROM answer WHERE question = ?", key).
		Scan(&k.url, &k.etag, &k.modified, &k.link, &used, &k.body)
	if err != nil && !errors.Is(err, sql.ErrNoRows) && ctx.Err() == nil {
		r.log.Warn("what github answered before cannot be read", "err", r.db.Explain(err))
	}
	if err != nil || k.url != address {
		return kept{}
	}
	k.used = time.UnixMicro(used)
	return k
}

// again answers with what was remembered.
func (r *remembering) again(ctx context.Context, key []byte, resp *http.Response, old kept) (*http.Response, error) {
	body, broken := s2.Decode(nil, old.body)
	if err := resp.Body.Close(); err != nil || broken != nil {
		r.drop(ctx, key) // so that the next request is a plain one
		return nil, fmt.Errorf("read what was answered before: %w", errors.Join(broken, err))
	}
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	set(resp.Header, "Link", old.link)
	resp.Header.Set(fromJournal, "1")
	if time.Since(old.used) > usedGrain {
		r.write(ctx, func(tx *journal.Tx) error {
			_, err := tx.Exec("UPDATE answer SET used_at = ? WHERE question = ?", time.Now().UnixMicro(), key)
			return err
		})
	}
	return resp, nil
}

// keep remembers an answer that has a validator, once it is known to be whole.
func (r *remembering) keep(ctx context.Context, key []byte, resp *http.Response) error {
	etag, modified := resp.Header.Get("Etag"), resp.Header.Get("Last-Modified")
	resp.Header.Del(fromJournal)
	if etag == "" && modified == "" {
		return nil
	}
	var read capped
	_, err := io.Copy(&read, resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	body := read.body.Bytes()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if !jsontext.Value(body).IsValid(lenient()) {
		return nil // it is the caller's to complain of, and must not be what is read from now on
	}
	r.write(ctx, func(tx *journal.Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO answer (question, url, etag, modified, link, used_at, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
			key, resp.Request.URL.String(), etag, modified, resp.Header.Get("Link"), time.Now().UnixMicro(), s2.Encode(nil, body))
		return err
	})
	return nil
}

func (r *remembering) drop(ctx context.Context, key []byte) {
	r.write(ctx, func(tx *journal.Tx) error {
		_, err := tx.Exec("DELETE FROM answer WHERE question = ?", key)
		return err
	})
}

// write changes what is remembered. That it cannot is no reason not to answer.
func (r *remembering) write(ctx context.Context, do func(*journal.Tx) error) {
	if err := r.db.Write(ctx, do); err != nil && ctx.Err() == nil {
		r.log.Warn("what github answers cannot be remembered", "err", err)
	}
}

// limit returns until when a host wanted no requests when it was asked last, perhaps by another process or client.
func (r *remembering) limit(host string) time.Time {
	ctx, cancel := context.WithTimeout(context.Background(), journalTimeout)
	defer cancel()
	var until int64
	err := r.db.Read().QueryRowContext(ctx, "SELECT until FROM host_limit WHERE host = ?", host).Scan(&until)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		r.log.Warn("whether github limits our requests cannot be read", "err", r.db.Explain(err))
	}
	end, most := journal.Moment(until), time.Now().Round(0).Add(longestPause)
	if end.After(most) { // the clock was set back
		return most
	}
	return end
}

// keepLimit remembers until when a host wants no requests, whoever waits for the answer that said so.
func (r *remembering) keepLimit(ctx context.Context, host string, until time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), journalTimeout)
	defer cancel()
	r.write(ctx, func(tx *journal.Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO host_limit (host, until) VALUES (?, ?)", host, journal.Micros(until))
		return err
	})
}

func set(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

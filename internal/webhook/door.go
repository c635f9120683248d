package webhook

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"

	// What goes beyond smallBody is read for largeReaders bodies at a time: GitHub seldom sends one, and a stranger who
	// sends many must not make us hold all of them. GitHub itself waits ten seconds for an answer.
	smallBody    = 1 << 20
	largeReaders = 4
	largeWait    = 10 * time.Second
)

var errBusy = errors.New("too many large bodies at once")

// routes sends each request to its place. It compares paths itself because a ServeMux redirects, and a redirected POST
// comes back as a GET without its body.
func (r *Receiver) routes(deliver http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer r.recoverPanic(w)
		switch req.URL.Path {
		case Path:
			deliver.ServeHTTP(w, req)
		case HealthPath:
			r.health(w, req)
		default:
			answer(w, http.StatusNotFound, "nothing is served here but POST "+Path+" and GET "+HealthPath)
		}
	})
}

func (r *Receiver) recoverPanic(w http.ResponseWriter) {
	if p := recover(); p != nil {
		r.log.Error("panic while answering a webhook request", "err", p, "stack", string(debug.Stack()))
		answer(w, http.StatusInternalServerError, "internal error; it is in the log")
	}
}

func (r *Receiver) health(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		answer(w, http.StatusMethodNotAllowed, HealthPath+" takes GET")
	case r.draining.Load():
		answer(w, http.StatusServiceUnavailable, "stopping")
	default:
		answer(w, http.StatusOK, "taking deliveries")
	}
}

// door stands before the gateway and answers what the gateway cannot: 405, 413 and 415. It reads the body under the cap and
// passes on the few headers that the service knows.
type door struct {
	next    http.Handler
	maxBody func() int64
	large   chan struct{} // holds one token for each large body that is being read or answered
	small   sync.Pool     // of *[]byte, into which other bodies are read, one after the other
}

func newDoor(next http.Handler, maxBody func() int64) *door {
	return &door{next: next, maxBody: maxBody, large: make(chan struct{}, largeReaders)}
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		answer(w, http.StatusMethodNotAllowed, Path+" takes POST")
		return
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || mediaType != typeJSON && mediaType != typeForm {
		answer(w, http.StatusUnsupportedMediaType, "the content type must be "+typeJSON+" or "+typeForm)
		return
	}
	limit := d.maxBody()
	if r.ContentLength > limit {
		d.tooLarge(w)
		return
	}
	body, done, err := d.read(w, r, limit)
	defer done()
	if err != nil {
		d.refuseBody(w, err)
		return
	}
	d.next.ServeHTTP(w, forwarded(r, mediaType, body))
}

// read returns the body, up to a limit, and what is to be called when nobody needs it any more.
func (d *door) read(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, done func(), err error) {
	done = func() {}
	if n := r.ContentLength; n >= 0 && n <= smallBody {
		body, done = d.buffer(int(n))
		_, err = io.ReadFull(r.Body, body)
		return body, done, err
	}
	capped := http.MaxBytesReader(w, r.Body, limit)
	body, err = io.ReadAll(io.LimitReader(capped, smallBody))
	if err != nil || len(body) < smallBody {
		return body, done, err
	}
	select {
	case d.large <- struct{}{}:
		done = func() { <-d.large }
	case <-time.After(largeWait):
		return nil, done, errBusy
	}
	buf := bytes.NewBuffer(body)
	_, err = buf.ReadFrom(capped)
	return buf.Bytes(), done, err
}

// buffer returns room for a small body, and what gives it back.
func (d *door) buffer(n int) (body []byte, done func()) {
	b, _ := d.small.Get().(*[]byte)
	if b == nil || cap(*b) < n {
		b = new(make([]byte, n))
	}
	return (*b)[:n], func() { d.small.Put(b) }
}

func (d *door) refuseBody(w http.ResponseWriter, err error) {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		d.tooLarge(w)
	case errors.Is(err, errBusy):
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", retryAfter)
		answer(w, http.StatusServiceUnavailable, errBusy.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		answer(w, http.StatusRequestTimeout, "the body took too long")
	default:
		w.Header().Set("Connection", "close")
		answer(w, http.StatusBadRequest, "the body ended early")
	}
}

func (d *door) tooLarge(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	answer(w, http.StatusRequestEntityTooLarge, "the body is larger than a delivery can be")
}

// forwarded returns the request as the gateway gets it: the body in memory, the media type in one spelling, and no header
// but those in knownHeaders, so that none can make the gateway set a deadline, change the method or write to a log.
func forwarded(r *http.Request, mediaType string, body []byte) *http.Request {
	h := http.Header{"Content-Type": {mediaType}}
	for name := range knownHeaders {
		if values, ok := r.Header[name]; ok && printable(values) {
			h[name] = values
		}
	}
	out := r.WithContext(r.Context())
	out.Header = h
	out.Body = &held{body: body}
	return out
}

// printable reports whether every value is printable ASCII. The gateway leaves out a value that is not: of two signatures
// one would remain.
func printable(values []string) bool {
	for _, v := range values {
		for i := range len(v) {
			if v[i] < 0x20 || v[i] > 0x7e {
				return false
			}
		}
	}
	return true
}

// held is a body that is in memory already. The gateway's decoder takes the slice and reads nothing.
type held struct{ body []byte }

func (h *held) Read([]byte) (int, error) { return 0, io.EOF }
func (h *held) Close() error             { return nil }

package githubtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const docs = "https://docs.github.com/rest"

// answer is what a handler found.
type answer struct {
	status  int
	body    any
	rows    []any     // of a listing, all of them: write cuts the page that was asked for
	wrap    string    // the member that holds the rows where a listing comes in an object
	changed time.Time // of a single thing: when it changed last
}

func ok(body any) answer      { return answer{status: http.StatusOK, body: body} }
func created(body any) answer { return answer{status: http.StatusCreated, body: body} }
func list(rows []any) answer  { return answer{status: http.StatusOK, rows: rows} }
func missing() answer         { return answer{status: http.StatusNotFound, body: message("Not Found")} }

func invalid(why string) answer {
	return answer{status: http.StatusUnprocessableEntity, body: message("Validation Failed: " + why)}
}

func wrapped(name string, rows []any) answer {
	return answer{status: http.StatusOK, rows: rows, wrap: name}
}

func message(text string) map[string]any {
	return map[string]any{"message": text, "documentation_url": docs}
}

// refuse answers outside of what handlers do.
func refuse(w http.ResponseWriter, status int, text, page string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"message": text, "documentation_url": page})
}

// write sends an answer, or that nothing changed.
func (s *Server) write(w http.ResponseWriter, q *query, a answer) {
	h := w.Header()
	for _, pair := range q.ch.headers {
		h.Set(pair[0], pair[1])
	}
	if a.rows != nil {
		a.body = q.page(h, a)
	}
	if m, is := a.body.(map[string]any); is && a.status >= 400 {
		m["status"] = strconv.Itoa(a.status)
	}
	body, err := json.Marshal(s.settle(a.body))
	if err != nil {
		panic(fmt.Sprintf("githubtest: answer %s: %v", q.URL.Path, err)) // a fault of a handler
	}
	if a.status == http.StatusNoContent {
		body = nil
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding, Accept, X-Requested-With")
	if a.status == http.StatusOK && !writes(q.Method) {
		etag := q.etag(body, h.Get("Link"))
		h.Set("ETag", etag)
		h.Set("Cache-Control", "private, max-age=60, s-maxage=60")
		if !a.changed.IsZero() {
			h.Set("Last-Modified", a.changed.UTC().Format(http.TimeFormat))
		}
		if q.unchanged(etag, a.changed) {
			if q.login != "" {
				s.giveBack(q.token, resourceOf(q.Request))
			}
			s.tell(h, q.token, resourceOf(q.Request))
			h.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	s.tell(h, q.token, resourceOf(q.Request))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(body)
}

// etag returns the weak validator of an answer. It is another for each token and for each media type.
func (q *query) etag(body []byte, link string) string {
	sum := sha256.New()
	for _, part := range []string{q.Header.Get("Authorization"), q.Header.Get("Accept"), link, string(body)} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return `W/"` + hex.EncodeToString(sum.Sum(nil)) + `"`
}

// unchanged reports whether who asks has what it would get.
func (q *query) unchanged(etag string, changed time.Time) bool {
	if known := q.Header.Get("If-None-Match"); known != "" {
		for tag := range strings.SplitSeq(known, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(q.Header.Get("If-Modified-Since"))
	return err == nil && !changed.IsZero() && !changed.After(since)
}

// node returns the id that GraphQL has for a thing.
func node(kind string, ids ...any) string {
	return kind + "_" + hex.EncodeToString(fmt.Append(nil, ids...))
}

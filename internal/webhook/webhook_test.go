package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" // a signature of the old kind, to see it refused
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "It's a Secret to Everybody"
	id     = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
	object = `{"action": "created", "n": 1.0e0, "text": "é 🚀 <b>"}`
)

// shelf is an inbox that keeps what it is given in memory.
type shelf struct {
	mu     sync.Mutex
	stored []loop.Delivery
	answer inbox.PutResult
	err    error
	before func(context.Context) // called before a delivery is kept
}

func (s *shelf) put(ctx context.Context, d loop.Delivery) (inbox.PutResult, error) {
	if s.before != nil {
		s.before(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return inbox.PutResult{}, s.err
	}
	d.Body = bytes.Clone(d.Body) // it is the receiver's again
	s.stored = append(s.stored, d)
	if s.answer.State == "" {
		return inbox.PutResult{State: d.State}, nil
	}
	return s.answer, nil
}

func (s *shelf) all() []loop.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]loop.Delivery(nil), s.stored...)
}

func options(s *shelf) webhook.Options {
	return webhook.Options{
		Secrets: func() [][]byte { return [][]byte{[]byte(secret)} },
		Put:     s.put,
		Logger:  slog.New(slog.DiscardHandler),
	}
}

func receiver(tb testing.TB, o webhook.Options) *webhook.Receiver {
	tb.Helper()
	r, err := webhook.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func sign(body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// signed returns a request as GitHub sends it.
func signed(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, webhook.Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "issue_comment")
	r.Header.Set("X-GitHub-Delivery", id)
	r.Header.Set("X-GitHub-Hook-ID", "292430182")
	r.Header.Set("X-Hub-Signature-256", sign(body))
	return r
}

func httpGet(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	form := "trace=1&payload=" + url.QueryEscape(object)
	header := func(kv ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(kv); i += 2 {
				r.Header.Del(kv[i])
				if kv[i+1] != "" {
					r.Header.Set(kv[i], kv[i+1])
				}
			}
		}
	}
	oldSignature := hmac.New(sha1.New, []byte(secret))
	oldSignature.Write([]byte(object))
	wrong := "sha256=" + strings.Repeat("0", 64)

	for _, c := range []struct {
		name   string
		body   string // "" is object
		change func(*http.Request)
		want   int
	}{
		{name: "json", want: 202},
		{name: "json in capitals with a charset", change: header("Content-Type", "Application/JSON; Charset=UTF-8"), want: 202},
		{name: "json with a parameter that is not well formed", change: header("Content-Type", "application/json; charset"), want: 202},
		{name: "form", body: form, change: header("Content-Type", "application/x-www-form-urlencoded"), want: 202},
		{name: "form in capitals with a charset", body: form, change: header("Content-Type", "APPLICATION/X-WWW-Form-URLEncoded; charset=utf-8"), want: 202},
		{
			name: "form with an override of the method", body: form, want: 202,
			change: header("Content-Type", "application/x-www-form-urlencoded", "X-HTTP-Method-Override", "GET"),
		},
		{name: "unknown event", change: header("X-GitHub-Event", "brand_new"), want: 202},
		{name: "ping", change: header("X-GitHub-Event", "ping"), want: 202},
		{name: "grpc timeout that is none", change: header("Grpc-Timeout", "soon"), want: 202},
		{name: "null for everything", body: `{"action":null,"comment":null,"sender":null,"repository":null}`, want: 202},
		{name: "names that occur twice", body: `{"a":1,"a":2}`, want: 202},
		{name: "white space around", body: " \r\n\t{}\n", want: 202},
		{name: "half a surrogate pair", body: `{"a":"\ud83d"}`, want: 202},

		{name: "no signature", change: header("X-Hub-Signature-256", ""), want: 401},
		{name: "wrong signature", change: header("X-Hub-Signature-256", wrong), want: 401},
		{name: "signature of another body", change: header("X-Hub-Signature-256", sign(object+" ")), want: 401},
		{name: "signature without its prefix", change: header("X-Hub-Signature-256", strings.TrimPrefix(sign(object), "sha256=")), want: 401},
		{name: "signature cut short", change: header("X-Hub-Signature-256", sign(object)[:20]), want: 401},
		{name: "signature that is no hex", change: header("X-Hub-Signature-256", "sha256="+strings.Repeat("zz", 32)), want: 401},
		{
			name: "only a SHA-1 signature", want: 401,
			change: header("X-Hub-Signature-256", "", "X-Hub-Signature", "sha1="+hex.EncodeToString(oldSignature.Sum(nil))),
		},
		{name: "two signatures", want: 401, change: func(r *http.Request) { r.Header.Add("X-Hub-Signature-256", wrong) }},
		{
			name: "two signatures of which one cannot be forwarded", want: 401,
			change: func(r *http.Request) { r.Header.Add("X-Hub-Signature-256", "sha256=é") },
		},
		{name: "list of signatures", change: header("X-Hub-Signature-256", wrong+","+sign(object)), want: 401},
		{
			name: "signature under a metadata name", want: 401,
			change: header("X-Hub-Signature-256", "", "Grpc-Metadata-X-Hub-Signature-256", sign(object)),
		},
		{
			name: "wrong signature beside everything else wrong", body: "[", want: 401,
			change: header("X-Hub-Signature-256", wrong, "X-GitHub-Event", "", "X-GitHub-Delivery", "x"),
		},

		{name: "no event", change: header("X-GitHub-Event", ""), want: 400},
		{name: "event under a metadata name", change: header("X-GitHub-Event", "", "Grpc-Metadata-X-Github-Event", "issues"), want: 400},
		{name: "event that is no name", change: header("X-GitHub-Event", "issue comment\""), want: 400},
		{name: "two events", change: func(r *http.Request) { r.Header.Add("X-GitHub-Event", "issues") }, want: 400},
		{name: "no delivery id", change: header("X-GitHub-Delivery", ""), want: 400},
		{name: "delivery id that is a path", change: header("X-GitHub-Delivery", "../../etc/x"), want: 400},
		{name: "delivery id in braces", change: header("X-GitHub-Delivery", "{"+id+"}"), want: 400},
		{name: "delivery id of dashes", change: header("X-GitHub-Delivery", strings.Repeat("-", 36)), want: 400},
		{name: "enterprise host that is none", change: header("X-GitHub-Enterprise-Host", "a/b"), want: 400},
		{name: "empty body", body: " ", want: 400},
		{name: "list", body: "[{}]", want: 400},
		{name: "null", body: "null", want: 400},
		{name: "text", body: `"{}"`, want: 400},
		{name: "two objects", body: "{}{}", want: 400},
		{name: "object cut off", body: object[:20], want: 400},
		{name: "something after the object", body: "{} x", want: 400},
		{name: "100,000 levels", body: `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}", want: 400},
		{name: "invalid UTF-8", body: "{\"a\":\"\xff\xfe\"}", want: 400},
		{name: "byte order mark", body: "\ufeff{}", want: 400},
		{name: "form without payload", body: "a=b", change: header("Content-Type", "application/x-www-form-urlencoded"), want: 400},
		{name: "form with two payloads", body: "payload=%7B%7D&payload=%7B%7D", change: header("Content-Type", "application/x-www-form-urlencoded"), want: 400},
		{name: "form that is none", body: "payload=%zz", change: header("Content-Type", "application/x-www-form-urlencoded"), want: 400},
		{name: "json called a form", change: header("Content-Type", "application/x-www-form-urlencoded"), want: 400},

		{name: "root", change: func(r *http.Request) { r.URL.Path = "/" }, want: 404},
		{name: "path with a slash at its end", change: func(r *http.Request) { r.URL.Path = webhook.Path + "/" }, want: 404},
		{name: "path with two slashes", change: func(r *http.Request) { r.URL.Path = "/" + webhook.Path }, want: 404},
		{name: "path of another service", change: func(r *http.Request) { r.URL.Path = "/loop.v1.Sessions/List" }, want: 404},
		{name: "get", change: func(r *http.Request) { r.Method = http.MethodGet }, want: 405},
		{name: "put", change: func(r *http.Request) { r.Method = http.MethodPut }, want: 405},
		{name: "options", change: func(r *http.Request) { r.Method = http.MethodOptions }, want: 405},
		{name: "no content type", change: header("Content-Type", ""), want: 415},
		{name: "plain text", change: header("Content-Type", "text/plain"), want: 415},
		{name: "grpc", change: header("Content-Type", "application/grpc"), want: 415},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{}
			h := receiver(t, options(s))
			if c.body == "" {
				c.body = object
			}
			r := signed(c.body)
			if c.change != nil {
				c.change(r)
			}
			res := serve(h, r)
			answer := res.Body.Bytes()
			if res.Code != c.want {
				t.Errorf("status = %d, want %d: %s", res.Code, c.want, answer)
			}
			if !json.Valid(answer) {
				t.Errorf("answer is no JSON: %s", answer)
			}
			if stored := len(s.all()); (stored == 1) != (c.want == 202) || stored > 1 {
				t.Errorf("%d deliveries stored with status %d", stored, res.Code)
			}
			if got := h.BadSignatures(); (got == 1) != (c.want == 401) {
				t.Errorf("bad signatures = %d with status %d", got, res.Code)
			}
			if allow := res.Header().Get("Allow"); c.want == 405 && allow != http.MethodPost {
				t.Errorf("Allow = %q, want POST", allow)
			}
			if next := serve(h, signed(`{"next":true}`)).Code; next != http.StatusAccepted {
				t.Errorf("the next request was answered with %d", next)
			}
		})
	}
}

func TestStoredDelivery(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	h := receiver(t, options(s))
	before := time.Now()

	res := serve(h, signed(object))
	var answer map[string]string
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"delivery_id": id, "state": "received"}, answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}

	r := signed("payload=" + url.QueryEscape(object))
	r.URL.RawQuery = "body=e30&event=x"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-GitHub-Delivery", strings.ToUpper(id))
	r.Header.Set("X-GitHub-Enterprise-Host", "GHE.Example.com")
	r.Header.Set("X-GitHub-Hook-ID", "not a number")
	serve(h, r)

	want := []loop.Delivery{
		{ID: id, Source: loop.SourceWebhook, Kind: "issue_comment", HookID: "292430182", Body: []byte(object), State: loop.StateReceived},
		{ID: id, Source: loop.SourceWebhook, Kind: "issue_comment", Host: "ghe.example.com", Body: []byte(object), State: loop.StateReceived},
	}
	got := s.all()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(loop.Delivery{}, "ReceivedAt")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if at := got[0].ReceivedAt; at.Before(before) || at.After(time.Now()) {
		t.Errorf("received at %v, asked at %v", at, before)
	}
}

func TestPingIsStoredLoggedAndDropped(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &shelf{}
	o := options(s)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	r := signed(object)
	r.Header.Set("X-GitHub-Event", "ping")
	if got := serve(receiver(t, o), r).Code; got != 202 {
		t.Errorf("status = %d, want 202", got)
	}
	want := []loop.Delivery{{
		ID: id, Source: loop.SourceWebhook, Kind: "ping", HookID: "292430182", Body: []byte(object),
		State: loop.StateDropped, Reason: loop.DropPing, Decision: loop.Drop, Summary: "ping",
	}}
	if diff := cmp.Diff(want, s.all(), cmpopts.IgnoreFields(loop.Delivery{}, "ReceivedAt")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if !strings.Contains(log.String(), "ping") || !strings.Contains(log.String(), id) {
		t.Errorf("the log does not show it: %q", log.String())
	}
}

func TestAnswerTellsWhatTheInboxSays(t *testing.T) {
	t.Parallel()
	s := &shelf{answer: inbox.PutResult{State: loop.StateDone, Reason: loop.DropDuplicate}}
	res := serve(receiver(t, options(s)), signed(object))
	var answer map[string]string
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"delivery_id": id, "state": "done", "reason": "duplicate"}, answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if res.Code != http.StatusAccepted {
		t.Errorf("status = %d, want 202", res.Code)
	}
}

func TestNotStoredIsNotAccepted(t *testing.T) {
	t.Parallel()
	s := &shelf{err: errors.New("the journal cannot grow: make room on /private/place")}
	var log bytes.Buffer
	o := options(s)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	res := serve(receiver(t, o), signed(object))
	answer := res.Body.Bytes()
	if res.Code != http.StatusServiceUnavailable || res.Header().Get("Retry-After") == "" {
		t.Errorf("status = %d, Retry-After = %q; want 503 with one", res.Code, res.Header().Get("Retry-After"))
	}
	if strings.Contains(string(answer), "private") {
		t.Errorf("a stranger is told about the journal: %s", answer)
	}
	if !strings.Contains(log.String(), "make room") || !strings.Contains(log.String(), id) {
		t.Errorf("the log does not tell what went wrong with which delivery: %s", log.String())
	}
}

func TestWriteOutlivesTheSender(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	s := &shelf{before: func(putCtx context.Context) {
		hangUp()
		if err := putCtx.Err(); err != nil {
			t.Errorf("the write was cancelled with its request: %v", err)
		}
		if _, bounded := putCtx.Deadline(); !bounded {
			t.Error("the write has no deadline")
		}
	}}
	serve(receiver(t, options(s)), signed(object).WithContext(ctx))
	if got := len(s.all()); got != 1 {
		t.Errorf("%d deliveries stored, want 1", got)
	}
}

func TestStepComesBetweenTheDiskAndTheAnswer(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	w := httptest.NewRecorder()
	o := options(s)
	var steps []string
	o.Step = func(name string) {
		steps = append(steps, name)
		if len(s.all()) != 1 || w.Body.Len() != 0 {
			t.Errorf("at the step %d deliveries are stored and %d bytes answered", len(s.all()), w.Body.Len())
		}
	}
	receiver(t, o).ServeHTTP(w, signed(object))
	if diff := cmp.Diff([]string{webhook.StepStored}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &shelf{before: func(context.Context) { panic("out of cheese") }}
	o := options(s)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	h := receiver(t, o)
	if got := serve(h, signed(object)).Code; got != 500 {
		t.Errorf("status = %d, want 500", got)
	}
	if !strings.Contains(log.String(), "out of cheese") {
		t.Errorf("the log does not tell: %s", log.String())
	}
	s.before = nil
	if got := serve(h, signed(object)).Code; got != 202 {
		t.Errorf("the next request was answered with %d", got)
	}
}

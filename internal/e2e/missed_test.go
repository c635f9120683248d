package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// tunnel leads to the receiver of whatever loopd runs, and answers for it while none does.
func (w *world) tunnel() string {
	w.t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		url := w.receiver()
		if err != nil || url == "" {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(body))
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		req.Header = r.Header
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = res.Body.Close() }()
		rw.WriteHeader(res.StatusCode)
	}))
	w.t.Cleanup(s.Close)
	return s.URL
}

// receiver returns where the loopd that runs takes deliveries, once it says so; "" when none runs.
func (w *world) receiver() string {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		w.mu.Lock()
		d := w.loopd
		w.mu.Unlock()
		if d == nil {
			return ""
		}
		if url := d.receiver(); url != "" {
			return url
		}
	}
	return ""
}

// Given a webhook that has brought something, one of another machine, and a loopd that is stopped,
// When somebody comments twice, a status of a pull request fails, and loopd is started again,
// Then GitHub is asked for these three once, and each reaches its agent once, though polling finds the comments as well.
func TestWhatFailedWhileLoopdWasStoppedArrives(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.hook.Move(h.tunnel())
	h.hook.Release()
	h.start()
	issue := h.shop.Open("octocat", githubtest.Item{Number: 15})
	pull := h.shop.Open("octocat", githubtest.Item{Number: 9, PR: true, Head: "topic"})
	h.register("acme/shop#15", conversation)
	h.register("acme/shop#9", uuid.NewString())
	issue.Comment("octocat", "the news is zero.")
	h.poll()
	h.idle()
	h.gh.Webhook("http://127.0.0.1:1/", []byte("of another machine"))
	h.stop()

	issue.Comment("octocat", "the news is one.")
	issue.Comment("octocat", "the news is two.")
	h.shop.Status(githubtest.Check{SHA: pull.Now().HeadSHA, Conclusion: "failure", Name: "the news is three.", Branch: "topic"})
	failed := h.hook.Failed()
	if len(failed) != 3 {
		t.Fatalf("%d deliveries failed, want 3", len(failed))
	}
	h.start()
	h.await("what failed to arrive", func() bool { return len(h.hook.Failed()) == 0 })
	for _, d := range failed {
		if got := h.settled(d.GUID); got.State != "done" && got.Reason != "duplicate" {
			t.Errorf("%s ended %+v", d.Event, got)
		}
	}
	h.poll()
	h.idle()
	var told strings.Builder
	for _, r := range h.runs() {
		told.WriteString(r.Prompt)
	}
	for _, news := range []string{"zero", "one", "two", "three"} {
		if n := strings.Count(told.String(), "the news is "+news+"."); n != 1 {
			t.Errorf("news %s was told %d times, want once:\n%s", news, n, told.String())
		}
	}
	if n, _ := h.gh.Count("POST */attempts"); n != len(failed) {
		t.Errorf("GitHub was asked for %d deliveries, want %d", n, len(failed))
	}
}

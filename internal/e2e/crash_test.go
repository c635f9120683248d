package e2e_test

import (
	"bufio"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given a delivery that was answered with 202,
// When loopd is killed at any step between the socket's accept and the harness's exit, and started again,
// Then the delivery ends done, and it ran once: a run that lived on was waited for and its answer counted.
func TestKilledAtAnyStepNothingIsLostOrRunTwice(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name     string
		runs     int    // processes that saw the prompt
		killAt   string // loopd ends itself at this step
		killWhen func(w *world) bool
	}{
		{name: "stored and not answered", killAt: "stored", runs: 1},
		{name: "decided", killAt: "decided", runs: 1},
		{name: "committed as running", killAt: "running", runs: 1},
		{name: "run folder written", killWhen: file("launch.json"), runs: 1},
		{name: "run claimed", killWhen: file("started.json"), runs: 1},
		{name: "harness at work", killWhen: func(w *world) bool { return len(w.runs()) == 1 }, runs: 1},
		{name: "harness has answered", killWhen: file("exit.json"), runs: 1},
		{name: "outcome seen", killAt: "ended", runs: 1},
		{name: "outcome written", killAt: "recorded", runs: 1},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.start()
			w.register("acme/shop#15", conversation)
			w.stop()
			d := w.start("LOOP_E2E_KILL_AT=" + s.killAt)
			id, body := uuid.NewString(), commentBody(15, "survives [[claude delay=700]]")
			w.postBlind(id, "issue_comment", body)
			if s.killWhen != nil {
				w.await(s.name, func() bool { return s.killWhen(w) })
				d.kill()
			}
			<-d.done

			w.start()
			if a := w.postAs(id, "issue_comment", body); a.status != 202 { // GitHub's retry, where there was no answer
				t.Fatalf("answered %d %s", a.status, a.body)
			}
			got := w.ends(id, "done", "")
			if n := len(w.runs()); n != s.runs || got.Attempts != 1 {
				t.Errorf("%d runs and %d tries, want %d and 1", n, got.Attempts, s.runs)
			}
			if s := w.session("github-acme-shop-15"); !slices.Equal(s.RecentDeliveries, []string{id}) {
				t.Errorf("session file lists %v", s.RecentDeliveries)
			}
		})
	}
}

// file waits for a file of the one run folder.
func file(name string) func(*world) bool {
	return func(w *world) bool {
		found, _ := filepath.Glob(filepath.Join(w.state, "runs", "*", name))
		return len(found) > 0
	}
}

// postBlind sends a delivery and does not care for the answer, which may never come.
func (w *world) postBlind(id, event string, body []byte) {
	w.t.Helper()
	req, err := githubtest.NewRequest(w.t.Context(), w.loopd.url, []byte(secret), event, id, body)
	if err != nil {
		w.t.Fatal(err)
	}
	u, _ := url.Parse(w.loopd.url)
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	if err := req.Write(conn); err != nil {
		w.t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, _ = bufio.NewReader(conn).ReadString('\n')
}

// Given a delivery whose body loopd has only begun to read,
// When loopd is killed and started again,
// Then nothing of it is kept, and GitHub's retry is taken as new.
func TestKilledBeforeTheBodyWasRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	d := w.start()
	w.register("acme/shop#15", conversation)
	id, body := uuid.NewString(), commentBody(15, "half a body")
	u, _ := url.Parse(d.url)
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	head := "POST /gh-webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-GitHub-Event: issue_comment\r\nX-GitHub-Delivery: " + id +
		"\r\nX-Hub-Signature-256: " + githubtest.Sign([]byte(secret), body) + "\r\nContent-Length: 100000\r\n\r\n"
	if _, err := conn.Write(append([]byte(head), body...)); err != nil {
		t.Fatal(err)
	}
	d.kill()
	w.start()
	if out := w.must("deliveries", "list", "-o", "json"); strings.Contains(out, id) {
		t.Errorf("half a delivery is kept: %s", out)
	}
	w.postAs(id, "issue_comment", body)
	w.ends(id, "done", "")
}

// Given a run that goes on,
// When loopd is stopped as a service manager does, and started again,
// Then the stop takes seconds, the run is not disturbed, and its answer counts.
func TestAGracefulStopLeavesTheRunGoing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	d := w.start()
	w.register("acme/shop#15", conversation)
	id := w.comment(15, "[[claude delay=3000]]")
	w.await("the run", func() bool { return len(w.runs()) == 1 })
	d.signal(os.Interrupt)
	if code := w.code(d); code != 0 {
		t.Errorf("loopd ended with %d:\n%s", code, d.log)
	}
	w.start()
	got := w.ends(id, "done", "")
	if runs := w.runs(); len(runs) != 1 || got.Attempts != 1 || runs[0].Code != 0 {
		t.Errorf("%d tries; runs: %+v", got.Attempts, runs)
	}
}

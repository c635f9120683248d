// Package e2e tests Loop as a whole: the real loopd and loopctl as processes, over the real socket and the real receiver,
// with harness programs of ours. One scenario a file, or a few of one kind.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/cli"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

// patience is how long a test waits for something that is to happen. It is long because machines are shared.
const patience = 60 * time.Second

const secret = "It's a Secret to Everybody"

// world is a machine of its own for one test: a home, a configuration, a state folder, the programs, and a loopd.
type world struct {
	t     *testing.T
	dir   string // short, because a socket is in it
	home  string
	work  string // the folder that sessions work in
	state string
	env   []string

	mu    sync.Mutex
	loopd *daemon
}

// newWorld makes the world and writes its configuration, which config completes. It starts nothing.
func newWorld(t *testing.T, config string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "loop-e2e-") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work"), state: filepath.Join(dir, "state")}
	for _, d := range []string{w.home, w.work, filepath.Join(dir, "bin")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"loopd", "loopctl"} {
		if err := linkOrCopy(self, filepath.Join(dir, "bin", role)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := claudetest.Install(filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	w.env = []string{
		"HOME=" + w.home, "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "TMPDIR=" + dir,
		"LOOP_CONFIG=" + filepath.Join(dir, "loop.toml"), "LOOP_SOCKET=" + filepath.Join(dir, "s", "loopd.sock"),
		"LOOP_GH_WEBHOOK_SECRET=" + secret,
	}
	w.configure(config)
	t.Cleanup(func() {
		w.stop()
		w.sweep()
	})
	return w
}

// configure writes loop.toml: what every world needs, and more, whose keys replace ours. Keys before the first table of more
// belong to [routing].
func (w *world) configure(more string) {
	w.t.Helper()
	base := fmt.Sprintf(`
authorized_users = ["octocat"]
runner = "headless"
join_seconds = 0
close_settle_seconds = 0
spawn_workdir = %q
[daemon]
state_dir = %q
log_level = "debug"
[webhook]
listen = "127.0.0.1:0"
[github]
api_url = "http://127.0.0.1:1"
[harness.claude]
command = %q
[harness.claude.env]
%s = %q
`, w.work, w.state, filepath.Join(w.dir, "bin", "claude"), claudetest.EnvRecord, filepath.Join(w.dir, "runs.jsonl"))
	tables := map[string]map[string]string{}
	for _, text := range []string{base, more} {
		table := "routing"
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if name, ok := strings.CutPrefix(line, "["); ok {
				table = strings.TrimSuffix(name, "]")
			} else if key, value, ok := strings.Cut(line, "="); ok {
				if tables[table] == nil {
					tables[table] = map[string]string{}
				}
				tables[table][strings.TrimSpace(key)] = value
			}
		}
	}
	var b strings.Builder
	for table, keys := range tables {
		fmt.Fprintf(&b, "[%s]\n", table)
		for key, value := range keys {
			fmt.Fprintf(&b, "%s = %s\n", key, value)
		}
	}
	w.write(b.String())
}

// write puts a text in the place of loop.toml, as editors do.
func (w *world) write(text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, "loop.toml")
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		w.t.Fatal(err)
	}
}

// result is what a loopctl command printed and returned.
type result struct {
	stdout, stderr string
	code           int
}

// loopctl runs a command of the client.
func (w *world) loopctl(args ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(w.dir, "bin", "loopctl"), args...)
	cmd.Env, cmd.Dir = w.env, w.work
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		w.t.Fatalf("loopctl %v: %v", args, err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// ask is loopctl without a process of its own, for those who ask again and again.
func (w *world) ask(args ...string) result {
	w.t.Helper()
	var out, errs bytes.Buffer
	code := cli.Main(w.t.Context(), args, strings.NewReader(""), &out, &errs, w.getenv)
	return result{out.String(), errs.String(), code}
}

// getenv looks a variable up in the world's environment.
func (w *world) getenv(name string) string {
	for _, kv := range w.env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// must runs a command of the client that has to succeed, and returns its output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	r := w.loopctl(args...)
	if r.code != 0 {
		w.t.Fatalf("loopctl %v: exit %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// register links a conversation to an item.
func (w *world) register(ref, id string, more ...string) {
	w.t.Helper()
	args := append([]string{"sessions", "register", "--work-item", ref, "--harness", "claude", "--harness-session-id", id, "--cwd", w.work}, more...)
	if r := w.ask(args...); r.code != 0 {
		w.t.Fatalf("loopctl %v: exit %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
}

// answer is the receiver's answer to a delivery.
type answer struct {
	status int
	body   string
}

// post sends a signed delivery with an id of its own, which it returns, and wants a 202.
func (w *world) post(event string, body []byte) string {
	w.t.Helper()
	id := uuid.NewString()
	if a := w.postAs(id, event, body); a.status != http.StatusAccepted {
		w.t.Fatalf("delivery of %s: %d %s", event, a.status, a.body)
	}
	return id
}

// postAs sends a signed delivery.
func (w *world) postAs(id, event string, body []byte) answer {
	w.t.Helper()
	req, err := githubtest.NewRequest(w.t.Context(), w.loopd.url, []byte(secret), event, id, body)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.send(req)
}

func (w *world) send(req *http.Request) answer {
	w.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{res.StatusCode, string(text)}
}

// runs returns what the harness was given, in the order in which its processes began.
func (w *world) runs() []claudetest.Run {
	w.t.Helper()
	runs, err := claudetest.ReadRuns(filepath.Join(w.dir, "runs.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	return runs
}

// comment posts a comment by octocat on an item of acme/shop, and returns the delivery's id.
func (w *world) comment(n int, text string) string {
	w.t.Helper()
	return w.post("issue_comment", commentBody(n, text))
}

var lastComment atomic.Int64

// commentBody is such a comment, with an id that no other has.
func commentBody(n int, text string) []byte {
	c := githubtest.Comment{ID: 5000 + lastComment.Add(1), Body: text}
	return githubtest.IssueComment("created", "octocat", githubtest.Item{Number: n}, c)
}

// delivery is what `loopctl deliveries show -o json` prints of one.
type delivery struct {
	ID, State, Reason, Error, Decision, Run string
	Attempts                                int
}

func (w *world) delivery(id string) delivery {
	w.t.Helper()
	r := w.ask("deliveries", "show", id, "-o", "json")
	if r.code != 0 {
		w.t.Fatalf("delivery %s: exit %d\n%s%s", id, r.code, r.stdout, r.stderr)
	}
	var d delivery
	w.decode(r.stdout, &d)
	return d
}

// settled waits until a delivery is final, and returns it.
func (w *world) settled(id string) delivery {
	w.t.Helper()
	var d delivery
	w.await("delivery "+id+" to be final", func() bool {
		d = w.delivery(id)
		return d.State == "done" || d.State == "failed" || d.State == "dropped"
	})
	return d
}

// ends waits until a delivery is final and wants it in this state, with this reason.
func (w *world) ends(id, state, reason string) delivery {
	w.t.Helper()
	d := w.settled(id)
	if d.State != state || d.Reason != reason {
		w.t.Fatalf("delivery %s ended %s (%s), want %s (%s); %s\n%s", id, d.State, d.Reason, state, reason, d.Error, w.loopctl("explain", id).stdout)
	}
	return d
}

// session is what is asked of `loopctl sessions show -o json`.
type session struct {
	HarnessSessionID          string
	PreviousHarnessSessionIDs []string
	Status                    string
	CloseReason               string
	Ending                    string
	LastEventAt               *time.Time
	RecentDeliveries          []string
	Cwd                       string
	CostUSD                   float64
}

// session reads the file of a session, as people do.
func (w *world) session(slug string) session {
	w.t.Helper()
	var s session
	text, err := os.ReadFile(filepath.Join(w.state, "sessions", slug+".json"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.decode(string(text), &s)
	return s
}

func (w *world) decode(text string, into any) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		w.t.Fatalf("not the JSON that was expected: %v\n%s", err, text)
	}
}

// await waits until ok says true.
func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			var log string
			if w.loopd != nil {
				log = w.loopd.log.String()
			}
			w.t.Fatalf("waited too long for %s\n%s", what, log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given a loopd that works,
// When its configuration is edited wrongly, then rightly, while deliveries go on,
// Then the last good one stays in force until the right one takes its place, status and the event log say so each time, keys
// that need a restart are named and keep their values, and no delivery notices.
func TestAConfigurationThatIsWrongThenRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	file := filepath.Join(w.dir, "loop.toml")
	good := w.read(file)
	through := w.comment(15, "[[claude delay=1500]] before the edits")

	w.write(strings.Replace(good, "authorized_users", "authorised_users", 1))
	w.await("the edit to be refused", func() bool { return w.status().ConfigError != "" })
	if e := w.status().ConfigError; !strings.Contains(e, file+":") || !strings.Contains(e, "authorised_users") || !strings.Contains(e, `authorized_users`) {
		t.Errorf("status tells of the wrong edit: %s", e)
	}
	if all := w.events("config.rejected"); len(all) != 1 || !strings.Contains(all[0].Message, file+":") {
		t.Errorf("the event log tells of the wrong edit: %+v", all)
	}
	if r := w.loopctl("reload"); r.code != 2 || !strings.Contains(r.stderr, file+":") {
		t.Errorf("loopctl reload of it: exit %d, %s", r.code, r.stderr)
	}
	w.ends(w.comment(15, "under the last good one"), "done", "")
	w.ends(w.said(15, "hubot", "me too"), "dropped", "unauthorized-actor")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.await("the missing file to be told", func() bool { return strings.Contains(w.status().ConfigError, "the file is gone") })
	w.ends(w.comment(15, "without a file"), "done", "")

	w.configure("authorized_users = [\"hubot\"]\n[webhook]\nlisten = \"127.0.0.1:1\"")
	w.await("the right edit to count", func() bool { return w.status().ConfigError == "" })
	if s := w.status(); !slices.Equal(s.RestartNeeded, []string{"webhook.listen"}) {
		t.Errorf("status names %q as waiting for a restart", s.RestartNeeded)
	}
	if all := w.events("config.reloaded"); len(all) != 1 {
		t.Errorf("the event log tells of the right edit: %+v", all)
	}
	w.ends(w.said(15, "hubot", "now?"), "done", "")
	w.ends(w.comment(15, "and I?"), "dropped", "unauthorized-actor")
	w.ends(through, "done", "")

	w.write(good)
	w.await("the first one to be back", func() bool { return len(w.status().RestartNeeded) == 0 })
	w.ends(w.comment(15, "I again"), "done", "")
	if n := strings.Count(w.loopd.log.String(), "level=ERROR"); n != 3 { // the edit, the reload that was asked for, the missing file
		t.Errorf("%d errors in the log, want one for each refusal:\n%s", n, w.loopd.log)
	}
}

// said posts a comment by somebody on an item of acme/shop, and returns the delivery's id.
func (w *world) said(n int, who, text string) string {
	w.t.Helper()
	c := githubtest.Comment{ID: 5000 + lastComment.Add(1), Body: text}
	return w.post("issue_comment", githubtest.IssueComment("created", who, githubtest.Item{Number: n}, c))
}

// logged is an entry of the event log.
type logged struct {
	Type, Message string
	Fields        map[string]string
}

// events lists the entries of a type.
func (w *world) events(kind string) []logged {
	w.t.Helper()
	r := w.ask("events", "--type", kind, "-o", "json")
	if r.code != 0 {
		w.t.Fatalf("loopctl events: exit %d\n%s", r.code, r.stderr)
	}
	var all []logged
	for d := json.NewDecoder(strings.NewReader(r.stdout)); d.More(); {
		var e logged
		if err := d.Decode(&e); err != nil {
			w.t.Fatalf("%v in:\n%s", err, r.stdout)
		}
		all = append(all, e)
	}
	return all
}

// Given a machine without a configuration file,
// When loopd starts, and a file is written later,
// Then status names no file at first, and then the file, which is in force without a restart.
func TestAConfigurationThatAppears(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	place := filepath.Join(w.dir, "config")
	for i, kv := range w.env {
		if strings.HasPrefix(kv, "LOOP_CONFIG=") {
			w.env[i] = "XDG_CONFIG_HOME=" + place
		}
	}
	if probe, err := net.Listen("tcp", config.Default().Webhook.Listen); err != nil {
		t.Skipf("another program has the default port: %v", err)
	} else {
		_ = probe.Close()
	}
	w.start()
	if file := w.status().ConfigPath; file != "" {
		t.Errorf("status names %s", file)
	}
	if err := os.MkdirAll(filepath.Join(place, "loop"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(place, "loop", "loop.toml")
	w.put(file, "[routing]\nauthorized_users = [\"octocat\"]\n")
	w.await("the file to count", func() bool { return w.status().ConfigPath == file && len(w.events("config.reloaded")) == 1 })
	w.ends(w.comment(15, "hello"), "dropped", "unmatched") // and not for who said it: that one is listed now
}

// Given a secret in a file beside the configuration,
// When the file gets another secret, and is then gone, each followed by a SIGHUP,
// Then the new secret counts and the old one no longer does, a file that is gone changes nothing and is told, and loopd goes on.
func TestASignalRereadsWhatTheFileDoesNotShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[webhook]\nsecret_file = \"secret\"")
	file := filepath.Join(w.dir, "secret")
	w.put(file, "first\n")
	d := w.start()
	try := func(with string) int {
		req, err := githubtest.NewRequest(t.Context(), d.url, []byte(with), "ping", uuid.NewString(), githubtest.Ping())
		if err != nil {
			t.Fatal(err)
		}
		return w.send(req).status
	}
	w.put(file, "second\n")
	if got := try("first"); got != http.StatusAccepted {
		t.Errorf("the first secret is answered %d before the signal", got)
	}
	d.signal(syscall.SIGHUP)
	w.await("the second secret to count", func() bool { return try("second") == http.StatusAccepted })
	if got := try("first"); got != http.StatusUnauthorized {
		t.Errorf("the first secret is answered %d after the signal", got)
	}
	if err := syscall.Unlink(file); err != nil {
		t.Fatal(err)
	}
	d.signal(syscall.SIGHUP)
	w.await("the refusal to be told", func() bool { return strings.Contains(w.status().ConfigError, "webhook.secret_file") })
	if got := try("second"); got != http.StatusAccepted {
		t.Errorf("the second secret is answered %d once its file is gone", got)
	}
	if r := w.loopctl("reload"); r.code != 2 || !strings.Contains(r.stderr, file) {
		t.Errorf("loopctl reload: exit %d, %s", r.code, r.stderr)
	}
	w.put(file, "second\n")
	if out := w.must("reload"); !strings.Contains(out, "nothing changed") {
		t.Errorf("loopctl reload says %q", out)
	}
	if e := w.status().ConfigError; e != "" {
		t.Errorf("status still tells of a refusal: %s", e)
	}
}

// Given a receiver with a small cap on bodies and a log as text,
// When the configuration raises the cap, turns routing off, and asks for more of the log,
// Then each counts from the next delivery on.
func TestWhatAReloadChangesCountsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[webhook]\nmax_body_bytes = 10000")
	w.start()
	large := func() answer {
		return w.postAs(uuid.NewString(), "issue_comment", with(fmt.Sprintf("%q:%q", "pad", strings.Repeat("x", 20_000)), commentBody(15, "large")))
	}
	if a := large(); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body is answered %d under the small cap", a.status)
	}
	w.configure("enabled = false\n[webhook]\nmax_body_bytes = 50000\n[daemon]\nlog_format = \"json\"")
	if out := w.must("reload", "-o", "json"); !strings.Contains(out, `"restartNeeded": []`) {
		t.Errorf("loopctl reload says:\n%s", out)
	}
	if a := large(); a.status != http.StatusAccepted {
		t.Errorf("a large body is answered %d under the large cap", a.status)
	}
	w.ends(w.comment(15, "hello"), "dropped", "routing-off")
	if text := w.loopd.log.String(); !strings.Contains(text, "\n{") {
		t.Errorf("the log is no JSON yet:\n%s", text)
	}
}

// Given a session that was made while sessions were headless,
// When the configuration says that they are in terminals,
// Then the session stays headless, its record and the list say so, and an event reaches it as before.
func TestAReloadMovesNoSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	w.configure("runner = \"tmux\"")
	w.must("reload")
	w.ends(w.comment(15, "where are you?"), "done", "")
	if runs := w.runs(); len(runs) != 1 || !slices.Contains(runs[0].Args, "-p") {
		t.Errorf("got runs %+v, want a headless one", runs)
	}
	file := w.read(filepath.Join(w.state, "sessions", "github-acme-shop-15.json"))
	if list := w.must("sessions", "list"); !strings.Contains(list, "headless") || !strings.Contains(file, `"runner": "headless"`) {
		t.Errorf("the session is listed as\n%sand its file says\n%s", list, file)
	}
}

// Given a configuration that listens to nobody, and to no event that tells of a close,
// When loopd starts with it, and when it is reloaded into one that does,
// Then the log and status name both and what they cost, each as long as it is so.
func TestWhatAConfigurationCostsIsSaid(t *testing.T) {
	t.Parallel()
	const costly = "authorized_users = []\n[webhook]\nevents = [\"issue_comment\"]"
	w := newWorld(t, costly)
	w.start()
	said := func(where, text string, want bool) {
		t.Helper()
		for _, word := range []string{"routing.authorized_users", "webhook.events"} {
			if strings.Contains(text, word) != want {
				t.Errorf("%s says of %s: %t, want %t\n%s", where, word, !want, want, text)
			}
		}
	}
	said("the log", w.loopd.log.String(), true)
	said("status", w.must("status"), true)
	w.configure("")
	w.must("reload")
	said("status after the reload", w.must("status"), false)
	w.configure(costly)
	w.must("reload")
	said("status after another", w.must("status"), true)
}

package e2e_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
)

// terminals is a world whose sessions are in terminals, where a label starts one, with a tmux server of its own.
type terminals struct {
	*world
	socket string
	hooked bool // events reach a live conversation by a hook that waits for them; else they are typed
}

// bothWays tries a scenario with hooks that wait for events, and with typing.
func bothWays(t *testing.T, more string, scenario func(t *testing.T, w terminals)) {
	t.Helper()
	for name, hooked := range map[string]bool{"by hook": true, "by typing": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTerminals(t, hooked, more)
			w.start()
			scenario(t, w)
		})
	}
}

// newTerminals makes such a world. It starts nothing.
func newTerminals(t *testing.T, hooked bool, more string) terminals {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("needs tmux: ", err)
	}
	w := terminals{newWorld(t, ""), "", hooked}
	w.socket = filepath.Join(w.dir, "t", "s")
	known := filepath.Join(w.dir, "known")
	for _, dir := range []string{known, filepath.Dir(w.socket)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.configure(`runner = "tmux"
spawn_on_unmatched = "labeled"
max_runs_per_hour = 100
` + more + `
[routing.tmux]
socket = "` + w.socket + `"
[hooks]
deliver_live = ` + strconv.FormatBool(hooked) + `
[harness.claude.env]
` + agenttest.EnvState + ` = "` + known + `"
`)
	t.Cleanup(w.end)
	return w
}

// end ends loopd and the tmux server, with which the terminals go.
func (w terminals) end() {
	w.stop()
	out, err := w.try(w.socket, "", "display-message", "-p", "#{pid}")
	if err != nil {
		return // none was started
	}
	if w.t.Failed() {
		names, _ := w.try(w.socket, "", "list-panes", "-a", "-F", "#{pane_id}")
		for pane := range strings.FieldsSeq(names) {
			screen, _ := w.try(w.socket, "", "capture-pane", "-p", "-t", pane)
			w.t.Logf("terminal %s:\n%s", pane, strings.TrimSpace(screen))
		}
		w.t.Logf("what agents did: %+v", w.acts(""))
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(out)); err == nil && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// try runs a command of a tmux server.
func (w terminals) try(socket, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", socket, "-f", os.DevNull}, args...)...)
	cmd.Env, cmd.Stdin = append(w.env, "TERM=xterm-256color", "LANG=C.UTF-8"), strings.NewReader(stdin)
	out, err := cmd.Output()
	if bad, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(string(bad.Stderr))
	}
	return string(out), err
}

// tmux is try for what has to succeed.
func (w terminals) tmux(args ...string) string {
	w.t.Helper()
	out, err := w.try(w.socket, "", args...)
	if err != nil {
		w.t.Fatalf("tmux %q: %v", args, err)
	}
	return strings.TrimSpace(out)
}

// at is the target of the terminal of an item of acme/shop.
func at(n int) string { return "=loop-" + slug(n) + ":" }

func slug(n int) string { return slugOf("shop", n) }

// ref names an item of acme/shop as loopctl takes it.
func ref(n int) string { return "acme/shop#" + strconv.Itoa(n) }

// slugOf is the slug of an item of another repository of acme.
func slugOf(repo string, n int) string {
	return loop.WorkItem{Provider: "github", Owner: "acme", Repo: repo, Number: n}.Slug()
}

func (w terminals) screen(n int) string { return w.tmux("capture-pane", "-p", "-t", at(n)) }

// keys are those of somebody who has come to the terminal of an item.
func (w terminals) keys(n int, keys ...string) {
	w.t.Helper()
	w.tmux(append([]string{"send-keys", "-t", at(n)}, keys...)...)
}

// alive reports whether the program in the terminal of an item lives.
func (w terminals) alive(n int) bool {
	return w.tmux("display-message", "-p", "-t", at(n), "#{pane_dead}") == "0"
}

// acts returns what was done of one kind in all terminals, or of all kinds for "".
func (w terminals) acts(what agenttest.What) (acts []agenttest.Act) {
	w.t.Helper()
	for _, run := range w.runs() {
		for _, act := range run.Acts {
			if what == "" || act.What == what {
				acts = append(acts, act)
			}
		}
	}
	return acts
}

// hears waits until a turn holds a text, and returns the turn.
func (w terminals) hears(text string) agenttest.Act {
	w.t.Helper()
	var heard agenttest.Act
	w.await("a turn with "+strconv.Quote(text), func() bool {
		for _, act := range w.acts(agenttest.ActTurn) {
			if strings.Contains(act.Text, text) {
				heard = act
				return true
			}
		}
		return false
	})
	return heard
}

// idles waits until n turns have ended and the terminal of an item is free.
func (w terminals) idles(n, turns int) {
	w.t.Helper()
	w.await(strconv.Itoa(turns)+" turns to have ended", func() bool {
		return len(w.acts(agenttest.ActAnswer)) >= turns && strings.Contains(w.screen(n), "? for shortcuts")
	})
}

// once wants each text to be in one turn, once, in this order.
func (w terminals) once(texts ...string) {
	w.t.Helper()
	var all strings.Builder
	for _, act := range w.acts(agenttest.ActTurn) {
		all.WriteString(act.Text + "\n")
	}
	last := -1
	for _, text := range texts {
		at := strings.Index(all.String(), text)
		if n := strings.Count(all.String(), text); n != 1 {
			w.t.Errorf("%q was heard %d times", text, n)
		} else if at < last {
			w.t.Errorf("%q was heard too early", text)
		}
		last = at
	}
}

// begun sets the label on an item and waits until the session that it starts has had its first turn.
func (w terminals) begun(n int) {
	w.t.Helper()
	before := len(w.acts(agenttest.ActAnswer))
	w.ends(w.post("issues", labeled(n)), "done", "")
	w.idles(n, before+1)
}

// waits waits until a delivery is held for a reason.
func (w *world) waits(id, reason string) {
	w.t.Helper()
	w.await("delivery "+id+" to wait: "+reason, func() bool {
		d := w.delivery(id)
		return d.State == "waiting" && d.Reason == reason
	})
}

// sayBody is a comment on an item of another repository of acme.
func sayBody(repo string, n int, text string) []byte {
	c := githubtest.Comment{ID: 5000 + lastComment.Add(1), Body: text}
	return githubtest.IssueComment("created", "octocat", githubtest.Item{Repo: githubtest.Repo{Owner: "acme", Name: repo}, Number: n}, c)
}

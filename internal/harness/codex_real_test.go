package harness_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/codextest"
	"github.com/loop-daemon/loop/internal/loop"
)

// newRealCodex returns the real Codex that LOOP_CODEX names, with a home of its own, and the API that it talks to.
func newRealCodex(t *testing.T, args ...string) (rig, *codextest.API) {
	t.Helper()
	command := os.Getenv("LOOP_CODEX")
	if command == "" {
		t.Skip("LOOP_CODEX is not the path of a real codex; make e2e-codex installs one and sets it")
	}
	api := codextest.NewAPI()
	t.Cleanup(api.Close)
	env := map[string]string{"HOME": t.TempDir(), "TMPDIR": t.TempDir(), "TZ": "UTC"}
	maps.Copy(env, api.Env())
	return rig{
		kind: kinds(t)[2],
		agent: newAgent(t, "codex", harness.Options{Environ: []string{"PATH=" + os.Getenv("PATH")}}, harness.Program{
			Command: command, Env: env, Args: append(api.Args(), args...),
		}),
		dir:   t.TempDir(),
		begun: func() (int, error) { return len(api.Requests()), nil },
	}, api
}

func TestRealCodex(t *testing.T) {
	t.Parallel()
	r, _ := newRealCodex(t, "--skip-git-repo-check")
	testConversations(t, r)
}

func TestRealCodexUsageLimit(t *testing.T) {
	t.Parallel()
	r, _ := newRealCodex(t, "--skip-git-repo-check")
	reset := time.Now().Add(50 * time.Hour).Truncate(time.Minute)
	out := r.start(t, "", fmt.Sprintf("hello [[agent limit=%d]]", reset.Unix()))
	wantOutcome(t, out, loop.Outcome{
		Kind: loop.RunHeld, Reason: loop.HeldUsageLimit, Detail: "usage limit", Until: reset.UTC(), SessionID: out.SessionID,
	})
}

func TestRealCodexWithoutTrust(t *testing.T) {
	t.Parallel()
	r, _ := newRealCodex(t)
	wantOutcome(t, r.start(t, "", "hello"), loop.Outcome{Kind: loop.RunFailed, Detail: "--skip-git-repo-check to harness.codex.args"})
}

// What the sandbox does not allow fails, and the turn ends well. The argument that says so is taken for a resume too.
func TestRealCodexInASandbox(t *testing.T) {
	t.Parallel()
	r, _ := newRealCodex(t, "--skip-git-repo-check", "--sandbox", "read-only")
	made := filepath.Join(r.dir, "made")
	text := fmt.Sprintf(`go [[agent tool=exec_command {"cmd":"touch %s"}]]`, made)
	first := r.start(t, "", text)
	for _, out := range []loop.Outcome{first, r.resume(t, first.SessionID, text)} {
		wantOutcome(t, out, r.answered(first.SessionID, "Fake answer to turn "))
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the file was made")
	}
}

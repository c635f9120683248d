package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/cli"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// actAsLoopctl makes the test program be loopctl: for what depends on the current folder, a signal or a terminal.
const actAsLoopctl = "ACT_AS_LOOPCTL"

func TestMain(m *testing.M) {
	if os.Getenv(actAsLoopctl) != "" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	os.Exit(m.Run())
}

// result is what loopctl left.
type result struct {
	Code           int
	Stdout, Stderr string
}

// loopctl runs a command in this process.
func loopctl(ctx context.Context, env map[string]string, stdin string, args ...string) result {
	var out, err bytes.Buffer
	code := cli.Main(ctx, args, strings.NewReader(stdin), &out, &err, func(name string) string { return env[name] })
	return result{code, out.String(), err.String()}
}

// mainWith runs a command in this process with other outputs.
func mainWith(ctx context.Context, env map[string]string, stdout, stderr io.Writer, args ...string) int {
	return cli.Main(ctx, args, strings.NewReader(""), stdout, stderr, func(name string) string { return env[name] })
}

// loopctlIn runs a command in a process of its own, in a folder.
func loopctlIn(t *testing.T, dir string, env []string, args ...string) result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	env = append(os.Environ(), append(env, actAsLoopctl+"=1", "PWD="+dir)...)
	res, err := proc.Run(ctx, proc.Cmd{Path: self, Args: args, Dir: dir, Env: env})
	code := 0
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		code = exit.Code
	} else if err != nil {
		t.Fatal(err)
	}
	return result{code, string(res.Stdout), string(res.Stderr)}
}

// env is an environment in which loopctl finds the fake, and nothing of the machine's own.
func (f *fake) env(more ...string) map[string]string {
	env := map[string]string{"LOOP_SOCKET": f.socket, "HOME": "/nonexistent"}
	for _, entry := range more {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

var printing = []string{
	"sessions register acme/shop#15 --harness claude --harness-session-id 3f9a0c1e --cwd /",
	"sessions register acme/shop#15 --harness claude --harness-session-id 3f9a0c1e --cwd / --quiet",
	"sessions list",
	"sessions list --status closed",
	"sessions show acme/shop#15",
	"sessions close acme/shop#15",
	"sessions close acme/shop#15 --no-wait",
	"sessions close acme/shop#16",
	"sessions close acme/shop#15 --keep-tmux",
	"sessions close acme/shop#15 --kill-tmux",
	"sessions close acme/shop#17 --kill-tmux",
	"sessions close acme/shop#18 --kill-tmux",
	"sessions close acme/shop#19 --kill-tmux",
	"sessions pause acme/shop#15",
	"sessions resume acme/shop#15",
	"deliveries list",
	"deliveries list --state failed",
	"deliveries show 0b989ba4-242f-11e5-81e1-c7b6966d2516",
	"deliveries show 0b989ba4-242f-11e5-81e1-c7b6966d2516 --body",
	"deliveries show pruned --body",
	"deliveries redeliver 0b989ba4-242f-11e5-81e1-c7b6966d2516",
	"explain acme/shop#15",
	"events",
	"logs acme/shop#15",
	"logs acme/shop#16",
	"send acme/shop#15 go on",
	"status",
	"reload",
	"poll",
	"simulate - --event issue_comment",
	"simulate - --event nonsense",
}

// TestTables holds what people read against testdata/tables.txt; UPDATE=1 writes it anew. Times of day are masked.
func TestTables(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	golden(t, f, "tables.txt")
}

// TestJSON holds what programs read against testdata/json.txt; UPDATE=1 writes it anew.
func TestJSON(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.now = time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
	golden(t, f.start(t), "json.txt", "-o", "json")
}

func golden(t *testing.T, f *fake, name string, flags ...string) {
	t.Helper()
	clock := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	var got strings.Builder
	for _, command := range printing {
		args := append(strings.Fields(command), flags...)
		r := loopctl(t.Context(), f.env(), `{"action":"created"}`, args...)
		got.WriteString("$ loopctl " + strings.Join(args, " ") + "\n" + clock.ReplaceAllString(r.Stdout, "YYYY-MM-DD hh:mm:ss"))
		if !strings.HasSuffix(r.Stdout, "\n") && r.Stdout != "" {
			got.WriteString("(no newline)\n")
		}
		for line := range strings.Lines(r.Stderr) {
			got.WriteString("stderr: " + line)
		}
		if r.Code != 0 {
			got.WriteString("exit code: " + string(rune('0'+r.Code)) + "\n")
		}
		got.WriteString("\n")
	}
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s differs (-want +got); UPDATE=1 takes it over:\n%s", file, diff)
	}
}

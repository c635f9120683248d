package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

const conversation = "3f9a1c52-8f0e-4a55-9d6b-0d6b2f6f2a11"

// TestMain makes the test binary every program of these tests: loopd itself, its starter, and the agent.
func TestMain(m *testing.M) {
	if agenttest.Is(os.Args) {
		os.Exit(agenttest.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	tmuxtest.Play()
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		time.AfterFunc(2*time.Minute, func() { os.Exit(99) }) // whatever a test forgets
		switch os.Args[1] {
		case "pane-exec":
			os.Exit(runner.PaneExecMain(os.Args[2:], os.Environ(), os.Stderr))
		case "exec":
			os.Exit(starter(os.Args[2:]))
		case "late-exec":
			waitForFile(filepath.Join(os.Args[2], "go"))
			os.Exit(starter(os.Args[3:]))
		case "mute-exec": // a starter that dies at once
			fmt.Fprintln(os.Stderr, "mute indeed")
			os.Exit(5)
		case "deaf-exec", "weak-exec": // starters that do nothing on TERM, or die of it
			if os.Args[1] == "deaf-exec" {
				signal.Ignore(syscall.SIGTERM)
			}
			os.Exit(runner.ExecMain(context.Background(), os.Args[2:], os.Stderr))
		case "loopd":
			loopd(os.Args[2])
			os.Exit(0)
		case "tell-args":
			os.Exit(tellArgs(os.Args[2], os.Args[3:]))
		case "typist":
			fmt.Println(typing(os.Args[2]))
			os.Exit(1)
		case "-p":
			os.Exit(agent(os.Getenv("FAKE")))
		case "tool":
			tool()
		}
	}
	os.Exit(tmuxtest.Main(m))
}

func starter(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return runner.ExecMain(ctx, args, os.Stderr)
}

// bench is a Headless and the handovers that a test has for it. Its fields are what a loopd of our own needs to be told.
type bench struct {
	Dir         string
	Fake        string // what the agent does
	Exec        string // which starter
	AnswerGrace time.Duration
	OutputLimit int64
	Grace       time.Duration
	Cwd         string
	Command     string
	Timeout     time.Duration
}

// loopd is a daemon that delivers run-1 and writes the outcome down.
func loopd(spec string) {
	var b bench
	if err := json.Unmarshal([]byte(spec), &b); err != nil {
		panic(err)
	}
	h, err := b.headless(io.Discard)
	if err != nil {
		panic(err)
	}
	h.Deliver(context.Background(), b.handover("run-1"))
}

func newBench(t *testing.T, fake string) *bench {
	t.Helper()
	b := &bench{
		Dir: filepath.Join(t.TempDir(), "runs"), Fake: fake, Exec: "exec", Cwd: t.TempDir(), Grace: 200 * time.Millisecond,
		Timeout: time.Minute,
	}
	b.Command = executable()
	if err := os.Mkdir(b.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.killAll(t) })
	return b
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func (b *bench) headless(log io.Writer) (*runner.Headless, error) {
	agents, err := harness.New(harness.Options{Agents: map[string]harness.Program{
		"claude": {Command: b.Command, Env: map[string]string{"FAKE": b.Fake, "SCENE": b.scene(), "SECRET": "s3cret"}},
	}})
	if err != nil {
		return nil, err
	}
	argv := []string{executable(), b.Exec}
	if b.Exec == "late-exec" {
		argv = append(argv, b.scene())
	}
	return runner.New(runner.Options{
		Dir: b.Dir, Exec: argv, Agents: agents.Agent, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Grace: b.Grace, AnswerGrace: b.AnswerGrace, OutputLimit: b.OutputLimit,
	})
}

// scene is a folder where the programs leave traces and wait for signs.
func (b *bench) scene() string { return filepath.Dir(b.Dir) }

func (b *bench) open(t *testing.T) *runner.Headless {
	t.Helper()
	h, err := b.headless(t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (b *bench) handover(id loop.RunID) loop.Handover {
	item, err := loop.ParseRef("github:acme/shop#15")
	if err != nil {
		panic(err)
	}
	return loop.Handover{
		Run: id, Prompt: "look at -this\n\"now\"", Timeout: b.Timeout,
		Session: loop.Session{WorkItem: item, Harness: "claude", HarnessSessionID: conversation, Cwd: b.Cwd},
	}
}

// file is the path of one file of a run.
func (b *bench) file(id loop.RunID, name string) string {
	return filepath.Join(b.Dir, string(id), name)
}

// tree is what a run's processes are known by.
func (b *bench) tree(t *testing.T, id loop.RunID) proc.Tree {
	t.Helper()
	var l struct{ Cookie string }
	text, err := os.ReadFile(b.file(id, "launch.json"))
	if err != nil {
		return proc.Tree{}
	}
	if err := json.Unmarshal(text, &l); err != nil || l.Cookie == "" {
		t.Fatalf("launch.json has no cookie: %s, %v", text, err)
	}
	return proc.Tree{Cookie: "LOOP_RUN=" + l.Cookie}
}

// began counts how often the agent was begun.
func (b *bench) began(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.scene(), "began"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// sign lets the programs that wait for it go on.
func (b *bench) sign(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.scene(), name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// starter is the identity of the run's starter.
func (b *bench) starter(t *testing.T, id loop.RunID) proc.Identity {
	t.Helper()
	await(t, b.file(id, "started.json"))
	text, err := os.ReadFile(b.file(id, "started.json"))
	if err != nil {
		t.Fatal(err)
	}
	var who proc.Identity
	if err := json.Unmarshal(text, &who); err != nil {
		t.Fatal(err)
	}
	return who
}

// wantGone fails if anything of the run lives: found by its mark, or written down by itself.
func (b *bench) wantGone(t *testing.T, id loop.RunID) {
	t.Helper()
	if living, err := b.tree(t, id).Living(); err != nil || len(living) > 0 {
		t.Errorf("%d processes of %s live on, %v", len(living), id, err)
	}
	for _, who := range b.tools(t) {
		if proc.Alive(who) {
			t.Errorf("process %d, started by the agent, lives on", who.PID)
		}
	}
}

// tools are the processes that the agent started and that wrote themselves down.
func (b *bench) tools(t *testing.T) []proc.Identity {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.scene(), "tool-*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []proc.Identity
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var who proc.Identity
		if err := json.Unmarshal(text, &who); err != nil {
			t.Fatal(err)
		}
		all = append(all, who)
	}
	return all
}

// killAll leaves nothing behind, whatever the test found.
func (b *bench) killAll(t *testing.T) {
	t.Helper()
	entries, _ := os.ReadDir(b.Dir)
	for _, e := range entries {
		var who proc.Identity
		text, _ := os.ReadFile(b.file(loop.RunID(e.Name()), "started.json"))
		_ = json.Unmarshal(text, &who)
		tree := b.tree(t, loop.RunID(e.Name()))
		tree.Root = who
		_, _ = tree.Kill()
	}
	for _, who := range b.tools(t) {
		_ = proc.Signal(who, syscall.SIGKILL)
	}
	// A starter whose run was given up may be about to write its claim just now. Once the folder is gone it has nothing to open.
	for until := time.Now().Add(time.Minute); os.RemoveAll(b.Dir) != nil && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
}

// agent is the coding agent: what it does is said by one word for each step.
func agent(steps string) int {
	prompt, _ := io.ReadAll(os.Stdin)
	trace("began", strings.Join(os.Args[1:], " ")+"\n")
	for step := range strings.FieldsSeq(steps) {
		word, arg, _ := strings.Cut(step, "=")
		switch word {
		case "stubborn":
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		case "tools":
			startTools()
		case "wait": // for a sign of the test
			waitForFile(filepath.Join(os.Getenv("SCENE"), arg))
		case "say":
			fmt.Println(arg)
		case "complain":
			fmt.Fprintln(os.Stderr, strings.ReplaceAll(arg, "_", " "))
		case "flood":
			n, _ := strconv.Atoi(arg)
			line := append(bytes.Repeat([]byte("x"), 1<<20-1), '\n')
			for ; n > 0; n-- {
				_, _ = os.Stdout.Write(line)
			}
		case "answer":
			printAnswer(string(prompt), false)
		case "is-error":
			printAnswer("API Error: 400 no", true)
		case "env":
			printAnswer(strings.Join(os.Environ(), "\n"), false)
		case "stay":
			select {}
		case "exit":
			code, _ := strconv.Atoi(arg)
			return code
		}
	}
	return 0
}

func printAnswer(text string, isError bool) {
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"type": "result", "subtype": "success", "is_error": isError, "num_turns": 1, "result": text, "session_id": conversation,
	})
}

// startTools starts what is hard to find again: processes that ignore TERM, in sessions of their own, one of them with nothing
// in its environment, one whose parent has ended.
func startTools() {
	for i, env := range [][]string{os.Environ(), {}, os.Environ()} {
		cmd := exec.Command(os.Args[0], "tool", os.Getenv("SCENE"), strconv.Itoa(i))
		cmd.Env = env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	for i := range 3 {
		waitForFile(filepath.Join(os.Getenv("SCENE"), "tool-"+strconv.Itoa(i)))
	}
}

func tool() {
	scene, number := os.Args[2], os.Args[3]
	if number == "2" { // a parent that ends at once
		cmd := exec.Command(os.Args[0], "tool", scene, "orphan")
		cmd.Env = []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		waitForFile(filepath.Join(scene, "tool-orphan"))
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	who, err := proc.Self()
	if err != nil {
		panic(err)
	}
	text, _ := json.Marshal(who)
	temp := filepath.Join(scene, "."+number)
	_ = os.WriteFile(temp, text, 0o600)
	_ = os.Rename(temp, filepath.Join(scene, "tool-"+number))
	if number == "2" {
		os.Exit(0)
	}
	select {}
}

func trace(name, text string) {
	f, err := os.OpenFile(filepath.Join(os.Getenv("SCENE"), name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = f.WriteString(text)
	_ = f.Close()
}

// waitForFile waits in a helper process, which ends by itself when the file never comes.
func waitForFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// await waits until a file is there.
func await(t *testing.T, path string) {
	t.Helper()
	for ctx := within(t, time.Minute); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s never came", path)
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

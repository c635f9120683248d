package runner

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// The files of a run's folder; the package comment says what each is.
const (
	promptFile = "prompt.txt"
	launchFile = "launch.json"
	claimFile  = "started.json"
	stdoutFile = "stdout"
	stderrFile = "stderr"
	stopFile   = "stop"
	exitFile   = "exit.json"
	logFile    = "exec.log"
)

// launch is what a starter is to run. The environment is not in it: the starter has it.
type launch struct {
	Item          string          `json:"item"`
	Harness       string          `json:"harness"`
	SessionID     loop.SessionID  `json:"sessionId"`
	Fresh         bool            `json:"fresh"`
	Path          string          `json:"path"`
	Args          []string        `json:"args"`
	Dir           string          `json:"cwd"`
	Cookie        string          `json:"cookie"`                 // the value of LOOP_RUN
	PromptInArgs  bool            `json:"promptInArgs,omitempty"` // so nothing goes to standard input
	Format        *harness.Format `json:"format,omitempty"`       // of the answer, where the harness alone does not tell
	TimeoutMS     int64           `json:"timeoutMs"`
	GraceMS       int64           `json:"graceMs"`
	AnswerGraceMS int64           `json:"answerGraceMs"`
	OutputLimit   int64           `json:"outputLimit"`
	CreatedAt     time.Time       `json:"createdAt"`
}

// env is the entry of the environment that every process of the run inherits.
func (l launch) env() string { return "LOOP_RUN=" + l.Cookie }

func (l launch) timeout() time.Duration     { return time.Duration(l.TimeoutMS) * time.Millisecond }
func (l launch) grace() time.Duration       { return time.Duration(l.GraceMS) * time.Millisecond }
func (l launch) answerGrace() time.Duration { return time.Duration(l.AnswerGraceMS) * time.Millisecond }

// claim says who has the run: a starter, or loopd, which gave it up before any starter had it.
type claim struct {
	proc.Identity
	StartedAt time.Time `json:"startedAt"`
	Abandoned string    `json:"abandoned,omitempty"`
}

// Why a run was given up before it began.
const (
	abandonedSettled = "settled after a restart"
	abandonedStopped = "stopped"
	abandonedDead    = "its starter ended early"
)

// exit says how a run ended.
type exit struct {
	End        end            `json:"end"`
	Code       int            `json:"code"`
	Signal     syscall.Signal `json:"signal,omitempty"`
	Killed     bool           `json:"killed,omitempty"`     // SIGKILL was needed
	Cut        bool           `json:"truncated,omitempty"`  // not all of stdout was kept
	StartError string         `json:"startError,omitempty"` // the program never began
	EndedAt    time.Time      `json:"endedAt"`
	TookMS     int64          `json:"tookMs"`
}

// end says why a program is no longer there, in words that another version of loopd reads too.
type end string

const (
	endExited   end = "exited"
	endAnswered end = "answered"
	endTimedOut end = "timed-out"
	endStopped  end = "stopped"
	endCutOff   end = "cut-off"
)

func (e end) harness() harness.End {
	switch e {
	case endAnswered:
		return harness.Answered
	case endTimedOut:
		return harness.TimedOut
	case endStopped:
		return harness.Stopped
	case endCutOff:
		return harness.CutOff
	case endExited:
	}
	return harness.Exited
}

// folder is one run's folder.
type folder struct {
	id   loop.RunID
	root *os.Root
}

var runIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}$`)

// openFolder opens the folder of a run; fs.ErrNotExist when there is none.
func openFolder(dir string, id loop.RunID) (*folder, error) {
	if !runIDPattern.MatchString(string(id)) {
		return nil, fmt.Errorf("run id %q: letters, digits and - only: %w", string(id), loop.ErrInvalid)
	}
	root, err := os.OpenRoot(filepath.Join(dir, string(id)))
	if err != nil {
		return nil, err
	}
	return &folder{id, root}, nil
}

// makeFolder makes the folder of a run; fs.ErrExist when it is there.
func makeFolder(dir string, id loop.RunID) (*folder, error) {
	if !runIDPattern.MatchString(string(id)) {
		return nil, fmt.Errorf("run id %q: letters, digits and - only: %w", string(id), loop.ErrInvalid)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil { // somebody may have removed it
		return nil, err
	}
	all, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = all.Close() }()
	if err := all.Mkdir(string(id), 0o700); err != nil {
		return nil, err
	}
	if err := atomicfile.SyncDir(all, "."); err != nil {
		return nil, err
	}
	return openFolder(dir, id)
}

// prepare makes the folder of a run and writes down what its starter is to do.
func (h *Headless) prepare(ho loop.Handover, cmd harness.Command) (*folder, error) {
	f, err := makeFolder(h.o.Dir, ho.Run)
	if err != nil {
		return nil, err
	}
	l := launch{
		Item: ho.Session.WorkItem.Ref(), Harness: ho.Session.Harness, SessionID: ho.Session.HarnessSessionID, Fresh: ho.Fresh,
		Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, PromptInArgs: cmd.Stdin == "", Format: cmd.Format,
		Cookie: string(ho.Run) + "." + rand.Text(), TimeoutMS: ho.Timeout.Milliseconds(), GraceMS: h.o.Grace.Milliseconds(),
		AnswerGraceMS: h.o.AnswerGrace.Milliseconds(), OutputLimit: h.o.OutputLimit, CreatedAt: time.Now().UTC(),
	}
	err = atomicfile.Write(f.root, promptFile, []byte(ho.Prompt), 0o600)
	if err == nil {
		err = f.write(launchFile, l)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *folder) close() { _ = f.root.Close() }

func (f *folder) launch() (launch, error) { return read[launch](f, launchFile) }
func (f *folder) claimed() (claim, error) { return read[claim](f, claimFile) }
func (f *folder) ended() (exit, error)    { return read[exit](f, exitFile) }
func (f *folder) has(name string) bool    { _, err := f.root.Lstat(name); return err == nil }
func (f *folder) mark(name string) error  { return atomicfile.Write(f.root, name, nil, 0o600) }

func (f *folder) write(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(f.root, name, append(b, '\n'), 0o600)
}

// read returns what a file of the folder says; fs.ErrNotExist when there is none.
func read[T any](f *folder, name string) (T, error) {
	var v T
	b, err := f.root.ReadFile(name)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("read %s of run %s: %w", name, f.id, err)
	}
	return v, nil
}

// take puts a claim in place, whole and on disk, if there is none yet, and says whether it is this one now.
func (f *folder) take(c claim) (bool, error) {
	temp := "." + claimFile + "." + rand.Text() + ".tmp"
	if err := f.write(temp, c); err != nil {
		return false, err
	}
	linkErr := f.root.Link(temp, claimFile)
	if err := f.root.Remove(temp); err != nil {
		return false, err
	}
	if errors.Is(linkErr, fs.ErrExist) {
		return false, nil
	}
	if linkErr != nil {
		return false, linkErr
	}
	return true, atomicfile.SyncDir(f.root, ".")
}

// forbid keeps the run from beginning, if it has not begun.
func (f *folder) forbid(why string) error {
	if f.has(claimFile) {
		return nil
	}
	_, err := f.take(claim{StartedAt: time.Now().UTC(), Abandoned: why})
	return err
}

// tail returns the last bytes of a file; nothing where it is not there.
func (f *folder) tail(name string, limit int64) []byte {
	file, err := f.root.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > limit {
		_, _ = file.Seek(-limit, io.SeekEnd)
	}
	b, _ := io.ReadAll(io.LimitReader(file, limit))
	return b
}

package harness

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// MaxHookInput is the most, in bytes, that a harness may tell one of its hooks: more than any prompt that a model takes.
const MaxHookInput = 8 << 20

// What is kept of what a hook was told, in characters.
const (
	maxHookWord = 100
	maxHookLine = 300
	maxHookPath = 4096
	maxHookRuns = 100
)

// ReadHook says what a call of a harness's hook tells. The event is that of the argument, one of the loop.Hook words, or where
// there is none the one that stdin names, which a harness that is not built in must not leave to that; what stdin holds and the environment says is checked and cut, never trusted. A report
// without an event is nothing to tell: an event that says nothing of the conversation, or a headless run that is not ours. The
// error is ErrInvalid.
func ReadHook(harness, event string, stdin []byte, getenv func(string) string, now time.Time) (loop.Report, error) {
	read, known := hookReaders[harness]
	if !known && (event == "" || !harnessName.MatchString(harness)) {
		return loop.Report{}, fmt.Errorf("hooks of %q: Loop does not know their events; name one of %v: %w", harness, hookEvents, loop.ErrInvalid)
	}
	if !known {
		read = readDeclaredHook
	}
	if event != "" && !slices.Contains(hookEvents, loop.HookEvent(event)) {
		return loop.Report{}, fmt.Errorf("hook event %q is none of %v: %w", event, hookEvents, loop.ErrInvalid)
	}
	if len(stdin) > MaxHookInput {
		return loop.Report{}, fmt.Errorf("%s told its hook more than %d bytes: %w", harness, MaxHookInput, loop.ErrInvalid)
	}
	r := loop.Report{Event: loop.HookEvent(event), Harness: harness, At: now}
	if err := place(&r, getenv); err != nil {
		return loop.Report{}, err
	}
	if err := read(&r, stdin, getenv); err != nil {
		return loop.Report{}, fmt.Errorf("read what %s told its hook: %w: %w", harness, err, loop.ErrInvalid)
	}
	if r.Event == "" {
		return loop.Report{}, nil
	}
	return r, r.SessionID.Check()
}

// hookReaders fill in a report from what each harness tells its hooks. They leave an event that is given as it is.
var hookReaders = map[string]func(r *loop.Report, stdin []byte, getenv func(string) string) error{
	claudeName: readClaudeHook,
	codexName:  readCodexHook,
	cursorName: readCursorHook,
}

var harnessName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,99}$`)

var hookEvents = []loop.HookEvent{
	loop.HookStart, loop.HookPrompt, loop.HookStop, loop.HookFailure, loop.HookWaiting, loop.HookEnd,
}

var markPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// place fills in what Loop gave the harness to know itself by. A work item that is none is as good as none.
func place(r *loop.Report, getenv func(string) string) error {
	r.Item, _ = loop.ParseRef(getenv("LOOP_WORK_ITEM"))
	for _, mark := range []struct {
		name string
		set  func(string)
	}{
		{"LOOP_LAUNCH", func(s string) { r.Launch = s }},
		{"LOOP_RUN", func(s string) { r.Run = loop.RunID(s) }},
	} {
		value := getenv(mark.name)
		if value != "" && !markPattern.MatchString(value) {
			return fmt.Errorf("%s holds what Loop never put there: %w", mark.name, loop.ErrInvalid)
		}
		mark.set(value)
	}
	return nil
}

// hookPID reads the pid of a process that could be a harness; 0 for what is none.
func hookPID(s string) int {
	pid, err := strconv.Atoi(s)
	if err != nil || pid <= 1 || pid > 1<<30 {
		return 0
	}
	return pid
}

// hookLine makes what a harness says one line of at most so many characters.
func hookLine(s string, most int) string {
	if len(s) > 4*most { // what is cut anyway is not worth a look
		s = s[:4*most]
	}
	r := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
	return string(r[:min(len(r), most)])
}

// hookFolder returns an absolute path, else "".
func hookFolder(s string) string {
	if len(s) > maxHookPath || !filepath.IsAbs(s) || strings.ContainsRune(s, 0) {
		return ""
	}
	return filepath.Clean(s)
}

package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// hook is a command in settings.
type hook struct {
	Type          string   `json:"type"`
	Command       string   `json:"command"`
	Args          []string `json:"args"` // if there, there is no shell
	Timeout       float64  `json:"timeout"`
	AsyncRewake   bool     `json:"asyncRewake"` // it runs beside the conversation, and wakes it with its stderr
	RewakeMessage string   `json:"rewakeMessage"`
	RewakeSummary string   `json:"rewakeSummary"`
}

// settings are the hooks by their events.
type settings map[string][]struct {
	Matcher string `json:"matcher"`
	Hooks   []hook `json:"hooks"`
}

// readSettings returns all hooks: those of the person, and those in a file that the command line names, which must be there.
func readSettings(file string) ([]settings, error) {
	var all []settings
	for _, name := range []string{filepath.Join(configDir(), "settings.json"), file} {
		if name == "" {
			continue
		}
		text, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == file:
			return nil, fmt.Errorf("Settings file not found: %s", name) //nolint:staticcheck // the program's own words
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		}
		var read struct {
			DisableAllHooks bool     `json:"disableAllHooks"`
			Hooks           settings `json:"hooks"`
		}
		if err := json.Unmarshal(text, &read); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if read.DisableAllHooks {
			return nil, nil
		}
		all = append(all, read.Hooks)
	}
	return all, nil
}

// hooksOf returns the hooks of an event with a detail: how a session started, which tool it is about.
func hooksOf(all []settings, event, detail string) (found []hook) {
	for _, s := range all {
		for _, group := range s[event] {
			if matched, err := regexp.MatchString("^("+group.Matcher+")$", detail); group.Matcher != "" && group.Matcher != "*" && (err != nil || !matched) {
				continue
			}
			for _, h := range group.Hooks {
				if h.Type == "command" {
					found = append(found, h)
				}
			}
		}
	}
	return found
}

// told is what a hook left.
type told struct {
	stdout, stderr string
	code           int
}

// What a hook says when it has a word in the matter.
const blocked = 2

// notFound is the status of a program that is not there.
const notFound = 127

// run runs the hook in a session of its own, as Claude Code does, and ends it with everything that it started when the time is
// up or ctx ends.
func (h hook) run(ctx context.Context, env []string, input []byte) told {
	limit := 60 * time.Second
	if h.Timeout > 0 {
		limit = time.Duration(h.Timeout * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	in, err1 := scratch(input)
	out, err2 := scratch(nil)
	errs, err3 := scratch(nil)
	if err := errors.Join(err1, err2, err3); err != nil {
		return told{stderr: err.Error(), code: notFound}
	}
	program := proc.Program{Path: h.Command, Args: h.Args, Env: env, Stdin: in, Stdout: out, Stderr: errs}
	if h.Args == nil {
		program.Path, program.Args = "/bin/sh", []string{"-c", h.Command}
	}
	child, err := proc.Detach(program)
	if err != nil {
		return told{stderr: err.Error(), code: notFound}
	}
	if child.Exited(ctx) != nil {
		_, _ = proc.Tree{Root: child.ID(), Group: child.ID().PID}.End(context.WithoutCancel(ctx), 200*time.Millisecond)
	}
	return told{read(out), read(errs), child.Reap().Code}
}

// scratch is a file without a name that holds some bytes: no child that keeps one open is waited for, as with a pipe.
func scratch(content []byte) (*os.File, error) {
	file, err := os.CreateTemp("", "hook-")
	if err != nil {
		return nil, err
	}
	_, err = file.Write(content)
	_, seekErr := file.Seek(0, io.SeekStart)
	return file, errors.Join(err, seekErr, os.Remove(file.Name()))
}

func read(file *os.File) string {
	defer file.Close() //nolint:errcheck // it was read
	_, _ = file.Seek(0, io.SeekStart)
	text, _ := io.ReadAll(file)
	return string(text)
}

// wake is a prompt that a hook makes of its stderr.
type wake struct{ text, summary string }

func (h hook) wake(label, stderr string) wake {
	summary, message := h.RewakeSummary, h.RewakeMessage
	if summary == "" {
		summary = "Stop hook feedback"
	}
	if message == "" {
		message = fmt.Sprintf("Stop hook blocking error from command %q:", label)
	}
	return wake{fmt.Sprintf("<task-notification>\n<summary>%s</summary>\n</task-notification>\n<system-reminder>\n%s %s\n</system-reminder>",
		summary, message, stderr), summary}
}

// objection returns why a Stop hook wants the conversation to go on, "" if none does.
func objection(said []told) string {
	for _, t := range said {
		var answer struct{ Decision, Reason string }
		switch err := json.Unmarshal([]byte(t.stdout), &answer); {
		case t.code == blocked:
			return "Stop hook feedback:\n" + strings.TrimSpace(t.stderr)
		case err == nil && answer.Decision == "block":
			return "Stop hook feedback:\n" + answer.Reason
		}
	}
	return ""
}

// configDir is where Claude Code keeps what it knows.
func configDir() string {
	if dir := os.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(os.Getenv("HOME"), ".claude")
}

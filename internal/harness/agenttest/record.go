package agenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Run is one run of the stand-in, as it saw itself.
type Run struct {
	PID    int       `json:"pid"`
	Args   []string  `json:"args"` // without the program's name
	Dir    string    `json:"dir"`
	Env    []string  `json:"env"`
	Prompt string    `json:"prompt"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended,omitzero"` // zero while it runs, and when it was killed
	Code   int       `json:"code"`
	Acts   []Act     `json:"-"` // in a terminal: what was done there, in order
}

// Act is one thing that was done in a terminal.
type Act struct {
	What    What      `json:"what"`
	Text    string    `json:"text,omitempty"`
	How     string    `json:"how,omitempty"`
	Session string    `json:"session"` // the conversation that it was done in
	At      time.Time `json:"at"`
}

// What is done in a terminal.
type What string

// What can be done in a terminal. The text of each, and what Act.How says beside it, stand behind it.
const (
	ActReady   What = "ready"   // it can be typed into: startup, resume or clear
	ActPrompt  What = "prompt"  // a prompt was accepted, in a turn or out of one: typed, woken, argument, or continued by a Stop hook
	ActRefused What = "refused" // a prompt was refused by a hook
	ActTurn    What = "turn"    // the model got this: new, or folded into the turn that ran
	ActAnswer  What = "answer"  // a turn ended: done, failed or interrupted
	ActDialog  What = "dialog"  // a dialog was opened, by its title
	ActChoice  What = "choice"  // it was answered with this: by enter, digit or escape
	ActDropped What = "dropped" // this was typed into a dialog, to no effect
	ActDraft   What = "draft"   // this stood in the composer at the end
	ActShell   What = "shell"   // this would have been run in a shell
	ActCommand What = "command" // a command of the program
	ActHook    What = "hook"    // a hook of this event ended, with this status
)

// row is a line of a record file: a run as it is now, or what was done in one.
type row struct {
	Run
	Act *Act `json:"act,omitempty"`
}

// write appends the run as it is now to the record file, if there is to be one.
func (r Run) write() error { return row{Run: r}.append() }

// add appends what was done in the run to the record file, if there is to be one.
func (r Run) add(act Act) error {
	act.At = time.Now()
	return row{Run{PID: r.PID, Began: r.Began}, &act}.append()
}

func (r row) append() error {
	name := os.Getenv(EnvRecord)
	if name == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("record the run: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// ReadRuns returns the runs in a record file, in the order in which they began to be written; none while there is no file. It
// may be called while runs go on.
func ReadRuns(name string) ([]Run, error) {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var runs []Run
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		runs = r.amend(runs)
	}
	return runs, nil
}

// amend adds to the runs what the row says.
func (r row) amend(runs []Run) []Run {
	i := slices.IndexFunc(runs, func(run Run) bool { return run.PID == r.PID && run.Began.Equal(r.Began) })
	switch {
	case i < 0:
		return append(runs, r.Run)
	case r.Act != nil:
		runs[i].Acts = append(runs[i].Acts, *r.Act)
	default:
		r.Acts = runs[i].Acts
		runs[i] = r.Run
	}
	return runs
}

// Did returns what was done of one kind.
func (r Run) Did(what What) (acts []Act) {
	for _, act := range r.Acts {
		if act.What == what {
			acts = append(acts, act)
		}
	}
	return acts
}

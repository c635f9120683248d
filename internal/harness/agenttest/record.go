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
}

// write appends the run as it is now to the record file, if there is to be one.
func (r Run) write() error {
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
		var run Run
		if err := json.Unmarshal(line, &run); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		same := func(r Run) bool { return r.PID == run.PID && r.Began.Equal(run.Began) }
		if i := slices.IndexFunc(runs, same); i >= 0 {
			runs[i] = run
		} else {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

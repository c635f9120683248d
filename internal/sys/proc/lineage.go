package proc

import (
	"fmt"
	"os"
)

// maxLineage is more generations than any shell in any terminal has. A table that changes while it is read must not lead in a circle.
const maxLineage = 100

// Lineage names the process that has the pid now and those that it descends from, itself first, as far as they live. The error is
// os.ErrProcessDone when there is no such process.
func Lineage(pid int) ([]Identity, error) {
	var line []Identity
	for pid > 1 && len(line) < maxLineage {
		row, err := stat(pid)
		if err == nil && row.ended {
			err = os.ErrProcessDone
		}
		if err != nil && len(line) == 0 {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		if err != nil {
			return line, nil //nolint:nilerr // it ended just now, and what it started will go to another
		}
		line = append(line, row.identity())
		pid = row.parent
	}
	return line, nil
}

// Args returns the arguments of a process, the program's name first, as it was started or as it calls itself now. There are none
// for a process that has ended or may not be read.
func Args(pid int) []string { return arguments(pid) }

// Terminal names the terminal that a process belongs to, such as pts/3; "" for none.
func Terminal(pid int) string {
	row, err := stat(pid)
	if err != nil || row.terminal == 0 {
		return ""
	}
	return terminalName(row.terminal)
}

package proc

import "iter"

// maxLineage is more generations than any shell in any terminal has. A table that changes while it is read must not lead in a circle.
const maxLineage = 100

// Lineage yields the process that has the pid now and those that it descends from, itself first, as far as they live: none when
// there is no such process. Each is looked up when it is its turn, so that whoever knows enough early pays no more.
func Lineage(pid int) iter.Seq[Identity] {
	return func(yield func(Identity) bool) {
		for range maxLineage {
			if pid <= 1 {
				return
			}
			row, err := stat(pid)
			if err != nil || row.ended || !yield(row.identity()) {
				return
			}
			pid = row.parent
		}
	}
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

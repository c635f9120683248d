package harness

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// Locate adds to a report which process the harness is, since when, and in which terminal. Where the harness did not tell, it is
// looked for among those that the hook descends from, beginning with the pid of its parent. A report of what is no
// conversation in a terminal, such as a script's run or a window of Cursor's editor, becomes nothing to tell.
func Locate(r loop.Report, parent int, getenv func(string) string) loop.Report {
	found, elsewhere := findHarness(r.Harness, parent)
	if r.Run == "" && (elsewhere || found.unattended(r.Harness)) {
		return loop.Report{}
	}
	id, err := found.id, error(nil)
	if r.PID != 0 {
		id, err = proc.Of(r.PID)
	}
	if err == nil {
		r.PID, r.Started = id.PID, id.Start
	}
	r.Where = hookLine(where(r.PID, getenv), maxHookWord)
	return r
}

// ancestor is a process and how it was started.
type ancestor struct {
	id   proc.Identity
	args []string
}

// findHarness finds the nearest ancestor whose program has a harness's name. Elsewhere says that the hook was called by another
// program of the same maker that has the same hooks.
func findHarness(harness string, parent int) (found ancestor, elsewhere bool) {
	names := []string{harness}
	if harness == cursorName {
		names = []string{"cursor-agent", "agent"}
	}
	for id := range proc.Lineage(parent) {
		a := ancestor{id, proc.Args(id.PID)}
		name := a.program()
		if slices.Contains(names, name) && !a.daemon() {
			return a, false
		}
		elsewhere = elsewhere || harness == cursorName && strings.HasPrefix(strings.ToLower(name), "cursor")
	}
	return ancestor{}, elsewhere
}

// interpreters run programs that are files of text; npm's are such.
var interpreters = []string{"node", "nodejs", "bun", "deno", "sh", "bash", "dash", "zsh", "python", "python3"}

// program is the name of what runs: of the file, where an interpreter runs one.
func (a ancestor) program() string {
	if len(a.args) == 0 {
		return ""
	}
	name := filepath.Base(a.args[0])
	if !slices.Contains(interpreters, name) {
		return name
	}
	for _, arg := range a.args[1:] {
		if !strings.HasPrefix(arg, "-") {
			return strings.TrimSuffix(filepath.Base(arg), ".js")
		}
	}
	return name
}

// daemon reports whether it is a process of Codex's that outlives the terminal.
func (a ancestor) daemon() bool { return slices.Contains(a.args, "app-server") }

// unattended reports whether a harness was started to answer once, without a terminal. Claude Code says so itself.
func (a ancestor) unattended(harness string) bool {
	switch harness {
	case codexName:
		return slices.Contains(a.args, "exec") || len(a.args) > 1 && a.args[1] == "e"
	case cursorName:
		return slices.Contains(a.args, "-p") || slices.Contains(a.args, "--print")
	}
	return false
}

// where says in which terminal a harness is, for people: in a multiplexer by the name that leads there.
func where(pid int, getenv func(string) string) string {
	socket, _, _ := strings.Cut(getenv("TMUX"), ",")
	switch pane := getenv("TMUX_PANE"); {
	case socket != "" && filepath.Base(socket) == "default":
		return "tmux " + pane
	case socket != "":
		return "tmux -S " + socket + " " + pane
	case getenv("ZELLIJ_SESSION_NAME") != "":
		return "zellij " + getenv("ZELLIJ_SESSION_NAME")
	case getenv("STY") != "":
		return "screen " + getenv("STY")
	case pid != 0:
		return proc.Terminal(pid)
	}
	return ""
}

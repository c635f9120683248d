package internal_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// rooms says who may import whom among our own packages. Names are paths below internal/ or, for loopd, loopctl and
// proto, below the module's root; sys/* is every package in sys. Tests may import what they like. A package without a row
// fails: write its row, in the class that it belongs to, before its code.
var rooms = []struct {
	packages string
	may      string
	instead  string // what to do rather than import something else
}{
	{
		"internal loop proto/loop/v1 sys/atomicfile sys/build sys/filewatch sys/journal sys/proc sys/unixsock", "",
		"the words, the API's messages and the system know nothing of the rest: take what you need as a parameter",
	},
	{
		"config github notify prompt route tmux", "loop sys/*",
		"these do not know each other: a word that two of them share belongs in loop, and who joins them is above both",
	},
	{
		"eventlog inbox item outbox session", "loop sys/*",
		"stores do not know each other: what must commit together takes a journal.Tx from the caller",
	},
	{
		"webhook", "loop proto/loop/v1 github inbox eventlog",
		"the door only puts deliveries into the inbox: what they mean is route's, what is done about them dispatch's",
	},
	{
		"poll", "loop item inbox eventlog sys/journal",
		"polling only puts deliveries into the inbox: where they come from is a Source, and whom they concern is asked of its Options",
	},
	{
		"harness", "loop sys/*",
		"an agent's command line does not depend on where it runs: hosting is runner's",
	},
	{
		"hooks", "loop sys/atomicfile",
		"what is put into the settings of harnesses depends on nothing that runs",
	},
	{
		"runner", "loop harness tmux sys/*",
		"a runner hosts agents: which event goes to which session is dispatch's",
	},
	{
		"dispatch", "loop route prompt inbox session item outbox eventlog sys/journal",
		"dispatch keeps order and outcomes: its Runner and its decoder are given to it, and so are its Options",
	},
	{
		"api", "loop proto/loop/v1 inbox session item outbox eventlog dispatch sys/unixsock",
		"a service translates: what it does belongs in the store or in dispatch",
	},
	{
		"cli", "loop proto/loop/v1 hooks config harness sys/*",
		"of a running daemon cli can do nothing that the API cannot: ask loopd over the socket",
	},
	{
		"app", "loop proto/loop/v1 hooks config github prompt route eventlog inbox item outbox session webhook poll harness runner tmux notify " +
			"dispatch api sys/*",
		"app joins all that loopd is made of: cli is loopctl, and what only tests use stays out of the program",
	},
	{"loopd", "app", "main is one line: the program is in app"},
	{"loopctl", "cli", "main is one line: the program is in cli"},

	// For tests and the demonstration alone: no row above names these.
	{"github/githubtest", "loop github sys/*", "it imitates GitHub, which does not know Loop"},
	{"tmux/tmuxtest", "loop sys/* tmux", "it is a server to try things on, and programs to put into it"},
	{"harness/agenttest", "sys/*", "it imitates agents, which do not know Loop"},
	{"harness/claudetest harness/codextest", "harness/agenttest", "these imitate what agents talk to, which does not know Loop"},
	{"demo", "loop harness harness/agenttest harness/claudetest github/githubtest tmux sys/*", "the demonstration does what a person can: ask loopctl, or read the files that people read"},
	{"bench", "loop inbox eventlog github/githubtest harness/agenttest tmux sys/*", "the benchmarks measure the programs as they are: they know the stores only to fill them"},
	{"e2e", "app cli github/githubtest harness/claudetest harness/agenttest loop proto/loop/v1 config sys/*", "whole-program tests see what a person sees: the programs and the socket"},
}

// owners keeps packages that are not ours to the rooms that answer for them.
var owners = []struct {
	imports string
	only    string
	instead string
}{
	{"os/exec", "sys/proc e2e", "start children with sys/proc: a group of their own, a deadline, capped output"},
	{"os/signal", "app cli bench demo harness/agenttest tmux/tmuxtest", "take a context: app and cli turn signals into one"},
	{"modernc.org/sqlite", "sys/journal", "SQLite is opened in one place: take a journal"},
	{"github.com/google/go-github", "github", "GitHub's API is asked in one place: take what it answers in the words of loop"},
	{"github.com/pelletier/go-toml/v2", "config", "settings are read in one place: take Options"},
	{"testing", "github/githubtest harness/claudetest tmux/tmuxtest e2e", "testing must not be linked into the programs"},
}

// pure rooms decide and describe, and touch nothing: that is what makes them easy to test and to trust.
const (
	pure   = "loop route prompt"
	impure = "os net net/http syscall database/sql golang.org/x/sys/unix"
)

func TestImports(t *testing.T) {
	t.Parallel()
	for name, p := range tree(t) {
		may, instead, ok := rowOf(name)
		if !ok {
			t.Errorf("%s has no row in internal/imports_test.go: write who it may import, and so what it is for", name)
			continue
		}
		for _, imp := range p.imports {
			if ours, is := roomOf(imp); is && ours != name && !matches(may, ours) {
				t.Errorf("%s imports %s; it may import: %s\n\t%s", name, ours, orNothing(may), instead)
			}
			for _, o := range owners {
				if (imp == o.imports || strings.HasPrefix(imp, o.imports+"/")) && !matches(o.only, name) {
					t.Errorf("%s imports %s, which only %s may\n\t%s", name, imp, o.only, o.instead)
				}
			}
			if matches(pure, name) && matches(impure, imp) {
				t.Errorf("%s imports %s, but it is pure\n\tdecide from what you are given, and let the caller act", name, imp)
			}
		}
	}
}

// TestRoomsAreReal keeps the table from naming a package that was removed or misspelt.
func TestRoomsAreReal(t *testing.T) {
	t.Parallel()
	known := tree(t)
	seen := map[string]bool{}
	for _, row := range rooms {
		for name := range strings.FieldsSeq(row.packages) {
			if seen[name] {
				t.Errorf("%s has two rows", name)
			}
			seen[name] = true
			if known[name] == nil {
				t.Errorf("%s has a row, but there is no such package: remove it from internal/imports_test.go", name)
			}
		}
		for name := range strings.FieldsSeq(row.may) {
			if name != "sys/*" && !hasRow(name) {
				t.Errorf("%s may import %s, which has no row", row.packages, name)
			}
		}
	}
}

// TestLoopctlStaysSmall holds what hooks wait for at every turn of an agent: loopctl's start.
func TestLoopctlStaysSmall(t *testing.T) {
	t.Parallel()
	all := tree(t)
	heavy := "sys/journal inbox session item outbox eventlog dispatch api webhook app modernc.org/sqlite github.com/google/go-github/*/github"
	reached := map[string]bool{}
	var visit func(name, from string)
	visit = func(name, from string) {
		if reached[name] || all[name] == nil {
			return
		}
		reached[name] = true
		for _, imp := range all[name].imports {
			next, ours := roomOf(imp)
			if !ours {
				next = imp
			}
			if matches(heavy, next) {
				t.Errorf("loopctl links %s (%s%s): it would start slower for every hook\n\task loopd over the socket", next, from, name)
			}
			visit(next, from+name+" → ")
		}
	}
	visit("loopctl", "")
}

// rowOf finds what the package called name may import.
func rowOf(name string) (may, instead string, ok bool) {
	for _, row := range rooms {
		if slices.Contains(strings.Fields(row.packages), name) {
			return row.may, row.instead, true
		}
	}
	return "", "", false
}

func hasRow(name string) bool {
	_, _, ok := rowOf(name)
	return ok
}

// matches tells whether name is one of the names or patterns in list.
func matches(list, name string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// forTests tells whether the package called name exists for tests alone.
func forTests(name string) bool {
	return name == "e2e" || strings.HasSuffix(name, "test")
}

func orNothing(may string) string {
	if may == "" {
		return "nothing of ours"
	}
	return may
}

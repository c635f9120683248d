package route

import (
	"slices"

	"github.com/loop-daemon/loop/internal/loop"
)

// How says how an item was found.
type How string

// The ways to find an item, in the order in which they are believed.
const (
	HowDeclared   How = "declared by its session"
	HowRemembered How = "remembered"
	HowOwn        How = "own number"
	HowKeyword    How = "closing keyword"
	HowBranch     How = "branch name" // proves nothing: the item may not exist
)

// Candidate is a work item that an event concerns.
type Candidate struct {
	Item loop.WorkItem
	How  How
	Pull loop.WorkItem // the pull request through which it was found, Item itself for its own number; zero for an issue's event
}

// Links is what is remembered about the pull requests of an event.
type Links struct {
	// ByHead are the pull requests known to have a check's commit as their head, or else its head repository and branch.
	ByHead []loop.WorkItem
	// Declared names, by pull request, the items whose open session said that the pull request is its own.
	Declared map[loop.ItemKey][]loop.WorkItem
	// Remembered names, by pull request, the items that it was linked to before.
	Remembered map[loop.ItemKey][]loop.WorkItem
}

// Pulls returns the pull requests that an event is about, whose links are to be looked up for Refs: the one that it names,
// or for a check those that GitHub attached. GitHub attaches none of a fork's, and to a status none at all: then they are
// byHead, as in Links.
func Pulls(ev loop.Event, byHead []loop.WorkItem) []loop.WorkItem {
	if !ev.Kind.CI() {
		if own := ev.WorkItem(); ev.Item.PR && !own.IsZero() {
			return []loop.WorkItem{own}
		}
		return nil
	}
	var pulls []loop.WorkItem
	for _, pr := range ev.CI.PRs {
		pull, err := loop.NewWorkItem(ev.Repo.Host, ev.Repo.Owner, ev.Repo.Name, pr.Number)
		if err == nil && !slices.Contains(pulls, pull) {
			pulls = append(pulls, pull)
		}
	}
	if len(pulls) == 0 {
		return byHead
	}
	return pulls
}

// Refs returns the items that an event concerns, each once, in the order in which a session is looked for: those that a
// session declared, those that are remembered, the event's own number, the issues that its pull request says it closes,
// and the one in the name of its branch.
func Refs(ev loop.Event, known Links) []Candidate {
	var found []Candidate
	add := func(how How, pull loop.WorkItem, items ...loop.WorkItem) {
		for _, item := range items {
			if !slices.ContainsFunc(found, func(c Candidate) bool { return c.Item.Key() == item.Key() }) {
				found = append(found, Candidate{Item: item, How: how, Pull: pull})
			}
		}
	}
	if own := ev.WorkItem(); !ev.Kind.CI() && !ev.Item.PR && !own.IsZero() {
		add(HowOwn, loop.WorkItem{}, own)
		return found
	}
	pulls := Pulls(ev, known.ByHead)
	for _, pull := range pulls {
		add(HowDeclared, pull, known.Declared[pull.Key()]...)
	}
	for _, pull := range pulls {
		add(HowRemembered, pull, known.Remembered[pull.Key()]...)
	}
	for _, pull := range pulls {
		add(HowOwn, pull, pull)
	}
	for _, pull := range pulls {
		add(HowKeyword, pull, closes(pull, ev.Item.Body)...)
	}
	for _, pull := range pulls {
		if n := loop.BranchIssue(headBranch(ev)); n > 0 {
			add(HowBranch, pull, pull.Sibling(n))
		}
	}
	return found
}

func headBranch(ev loop.Event) string {
	if ev.Kind.CI() {
		return ev.CI.Branch
	}
	return ev.Item.HeadRef
}

// spawnOrder returns the candidates in the order in which a new session is keyed: an issue before the pull request that is
// linked to it.
func spawnOrder(candidates []Candidate) []Candidate {
	ordered := slices.Clone(candidates)
	slices.SortStableFunc(ordered, func(a, b Candidate) int { return spawnRank(a.How) - spawnRank(b.How) })
	return ordered
}

func spawnRank(how How) int {
	return slices.Index([]How{HowDeclared, HowRemembered, HowKeyword, HowBranch, HowOwn}, how)
}

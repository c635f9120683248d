package githubtest

import (
	"slices"
	"strings"
	"time"
)

// Thread is an issue or a pull request of a Server, with all that was said about it. Its exported methods are what people
// do: who does it comes first.
type Thread struct {
	Item // as it is now; only the methods change it, and Now returns a copy that is safe to look at

	repo      *Repository
	past      []Item // what it was before each change
	comments  []*remark
	inline    []*remark
	reviews   []*verdict
	events    []*occurrence
	reactions []*reaction
	closer    string
	editor    string // who edited the description last; "" nobody did
	edited    time.Time
	mergeable string // clean unless said
	gone      bool
	movedTo   *Thread
}

// remark is a comment of either kind.
type remark struct {
	Comment
	editor    string // who edited it last; "" nobody did
	pending   bool   // it belongs to a review that was not submitted
	reactions []*reaction
}

// occurrence is what the list of an item's events tells.
type occurrence struct {
	id     int64
	name   string
	actor  string
	at     time.Time
	label  string
	commit string
	rename map[string]any
}

// Open opens an issue, or a pull request where it.PR says so. Its number is the repository's next unless it says one.
func (r *Repository) Open(who string, it Item) *Thread {
	var t *Thread
	r.s.do(func(ch *change) { t = r.open(ch, who, it, nil) })
	return t
}

func (r *Repository) open(ch *change, who string, it Item, changes map[string]any) *Thread {
	if it.Number == 0 {
		it.Number = 1
		for _, t := range r.threads {
			it.Number = max(it.Number, t.Number+1)
		}
	}
	labels := it.Labels
	it.Repo, it.Author, it.Labels = r.Repo, who, nil
	it.At, it.Opened = r.s.now(), r.s.now()
	for _, name := range labels {
		it.Labels = append(it.Labels, r.spell(name))
	}
	t := &Thread{Item: it.orDefault(), repo: r, mergeable: "clean"}
	t.ClosedAt = time.Time{}
	r.threads = append(r.threads, t)
	slices.SortFunc(r.threads, func(a, b *Thread) int { return a.Number - b.Number })
	extra := map[string]any{}
	if changes != nil {
		extra["changes"] = changes
	}
	t.emit(ch, "opened", who, extra)
	for _, name := range it.Labels {
		t.note("labeled", who).label = name
		t.emit(ch, "labeled", who, map[string]any{"label": r.labelView(name)})
	}
	return t
}

// Thread returns the issue or pull request with a number, and nil where there is none.
func (r *Repository) Thread(number int) *Thread {
	return read(r.s, func() *Thread { return r.thread(number) })
}

func (r *Repository) thread(number int) *Thread {
	for _, t := range r.threads {
		if t.Number == number {
			return t
		}
	}
	return nil
}

// Now returns the item as it is now.
func (t *Thread) Now() Item {
	return read(t.repo.s, func() Item { return t.at(t.Item) })
}

// at returns a state of the item with where its repository is now.
func (t *Thread) at(it Item) Item {
	it.Repo, it.Labels, it.Replies = t.repo.Repo, slices.Clone(it.Labels), len(t.comments)
	return it
}

// listed returns the item as listings show it, and false where they do not show it yet.
func (t *Thread) listed() (Item, bool) {
	until := t.repo.s.shown()
	if t.gone || t.movedTo != nil {
		return Item{}, false
	}
	if !t.At.After(until) {
		return t.at(t.Item), true
	}
	for _, it := range slices.Backward(t.past) {
		if !it.At.After(until) {
			return t.at(it), true
		}
	}
	return Item{}, false
}

// touch makes room for a change of the item, which counts as one now.
func (t *Thread) touch() {
	t.past = append(t.past, t.Item)
	t.Labels = slices.Clone(t.Labels)
	t.At = t.repo.s.now()
}

func (t *Thread) note(name, who string) *occurrence {
	o := &occurrence{id: t.repo.s.id("event"), name: name, actor: who, at: t.repo.s.now()}
	t.events = append(t.events, o)
	return o
}

// emit sends an issues or a pull_request event.
func (t *Thread) emit(ch *change, action, who string, extra map[string]any) {
	if extra == nil {
		extra = map[string]any{}
	}
	if t.PR {
		extra["number"], extra["pull_request"] = t.Number, t.pullView(t.Item)
		ch.emit(t.repo, "pull_request", action, who, extra)
		return
	}
	extra["issue"] = t.issueView(t.Item)
	ch.emit(t.repo, "issues", action, who, extra)
}

// does makes a change of the item that is an event of the same name.
func (t *Thread) does(name, who string, apply func()) {
	t.repo.s.do(func(ch *change) { t.step(ch, name, name, who, apply) })
}

func (t *Thread) step(ch *change, event, action, who string, apply func()) {
	t.touch()
	apply()
	t.note(event, who)
	t.emit(ch, action, who, nil)
}

// Label sets labels, those that it does not have.
func (t *Thread) Label(who string, names ...string) {
	t.repo.s.do(func(ch *change) {
		for _, name := range names {
			t.label(ch, who, name)
		}
	})
}

func (t *Thread) label(ch *change, who, name string) {
	if name = t.repo.spell(name); has(t.Labels, name) {
		return
	}
	t.touch()
	t.Labels = append(t.Labels, name)
	t.note("labeled", who).label = name
	t.emit(ch, "labeled", who, map[string]any{"label": t.repo.labelView(name)})
}

// Unlabel takes a label away.
func (t *Thread) Unlabel(who, name string) {
	t.repo.s.do(func(ch *change) { t.unlabel(ch, who, name) })
}

func (t *Thread) unlabel(ch *change, who, name string) {
	if !has(t.Labels, name) {
		return
	}
	name = t.repo.spell(name)
	t.touch()
	t.Labels = slices.DeleteFunc(t.Labels, func(l string) bool { return strings.EqualFold(l, name) })
	t.note("unlabeled", who).label = name
	t.emit(ch, "unlabeled", who, map[string]any{"label": t.repo.labelView(name)})
}

// Close closes the item, an issue for a reason: completed for "", or not_planned. A pull request is not merged by it.
func (t *Thread) Close(who, reason string) {
	t.repo.s.do(func(ch *change) { t.close(ch, who, reason, "") })
}

func (t *Thread) close(ch *change, who, reason, commit string) {
	if t.Closed {
		return
	}
	if reason == "" && !t.PR {
		reason = "completed"
	}
	t.touch()
	t.Closed, t.ClosedAt, t.Reason, t.closer = true, t.At, reason, who
	t.note("closed", who).commit = commit
	t.emit(ch, "closed", who, nil)
}

// Reopen opens a closed item again.
func (t *Thread) Reopen(who string) {
	t.repo.s.do(func(ch *change) { t.reopen(ch, who) })
}

func (t *Thread) reopen(ch *change, who string) {
	if !t.Closed || t.Merged {
		return
	}
	t.touch()
	t.Closed, t.ClosedAt, t.closer = false, time.Time{}, ""
	if t.Reason = "reopened"; t.PR {
		t.Reason = ""
	}
	t.note("reopened", who)
	t.emit(ch, "reopened", who, nil)
}

// Edit changes title and body.
func (t *Thread) Edit(who, title, body string) {
	t.repo.s.do(func(ch *change) { t.edit(ch, who, title, body) })
}

func (t *Thread) edit(ch *change, who, title, body string) {
	changes := map[string]any{}
	was := t.Item
	t.touch()
	if title != was.Title {
		changes["title"] = map[string]any{"from": was.Title}
		t.Title = title
		t.note("renamed", who).rename = map[string]any{"from": was.Title, "to": title}
	}
	if body != was.Body {
		changes["body"] = map[string]any{"from": was.Body}
		t.Body, t.editor, t.edited = body, who, t.At
	}
	t.emit(ch, "edited", who, map[string]any{"changes": changes})
}

// Lock lets only collaborators comment: comments by request are refused with 403.
func (t *Thread) Lock(who string) { t.does("locked", who, func() { t.Locked = true }) }

// Unlock ends Lock.
func (t *Thread) Unlock(who string) { t.does("unlocked", who, func() { t.Locked = false }) }

// Transfer moves an issue to another repository, where it gets a new number. Requests for the old one are sent on.
func (t *Thread) Transfer(who string, to *Repository) *Thread {
	var now *Thread
	t.repo.s.do(func(ch *change) {
		old := t.issueView(t.Item)
		it := t.Item
		it.Number, it.Labels = 0, nil
		now = to.open(ch, t.Author, it, map[string]any{"old_issue": old, "old_repository": t.repo.view()})
		now.comments, now.Opened = t.comments, t.Opened
		t.touch()
		t.movedTo = now
		t.emit(ch, "transferred", who, map[string]any{
			"changes": map[string]any{"new_issue": now.issueView(now.Item), "new_repository": to.view()},
		})
	})
	return now
}

// Convert makes a discussion of an issue, which stays as a closed and locked one that nobody can comment on.
func (t *Thread) Convert(who string) {
	t.repo.s.do(func(ch *change) {
		t.close(ch, who, "", "")
		t.touch()
		t.Locked = true
		t.note("converted_to_discussion", who)
		t.emit(ch, "locked", who, nil)
	})
}

// Delete deletes an issue: it answers 410.
func (t *Thread) Delete(who string) {
	t.repo.s.do(func(ch *change) {
		t.gone = true
		t.emit(ch, "deleted", who, nil)
	})
}

// Package prompt writes events as text for an agent. It is pure: the same input gives the same text.
//
// Everything that came from GitHub is somebody's data. What stands outside the fence is Loop's own words and values that
// match strict patterns; all else stands inside, between two lines with a marker that the data cannot hold, and is made
// safe to be typed or read: valid UTF-8, no control or invisible characters, no hidden comments, no @ that a harness would
// take for a file. A prompt always begins with words of Loop, so it is never taken for a command.
package prompt

import (
	"fmt"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// Input is what a prompt tells.
type Input struct {
	Item   loop.WorkItem // what the session works on
	Events []loop.Event  // in order; none for a session that a person starts by hand
	Text   string        // what a person wrote beside a start command; it takes the place of the first event's comment
	Spawn  bool          // the conversation is new and knows nothing of the item
	Retry  bool          // it was handed over before, and the run was cut off
	Missed int           // events that were dropped while the session was paused
}

// Templates are the texts that events are put into. The zero value is the built-in ones.
type Templates struct {
	Deliver *Template
	Spawn   *Template // for the first event of a new conversation
}

// Render returns the prompt.
func (t Templates) Render(in Input) string {
	in.Events = introduced(in)
	blocks := excerpts(in)
	fence := newFence(blocks)
	var b strings.Builder
	b.WriteString(opening(in))
	for i, data := range blocks {
		event := startedByHand(in.Item)
		if i < len(in.Events) {
			event = in.Events[i]
		}
		if len(blocks) > 1 {
			fmt.Fprintf(&b, "\nEvent %d of %d\n", i+1, len(blocks))
		}
		b.WriteString("\n")
		if event.Kind == loop.KindSend {
			b.WriteString(message(event))
		} else {
			b.WriteString(strings.TrimSpace(t.choose(in.Spawn && i == 0).render(newFields(in.Item, event, fence.around(data)))))
		}
		b.WriteString("\n")
	}
	b.WriteString(closing(in.Item))
	return b.String()
}

func (t Templates) choose(spawn bool) *Template {
	switch {
	case spawn && t.Spawn != nil:
		return t.Spawn
	case spawn:
		return builtIn(spawnText)
	case t.Deliver != nil:
		return t.Deliver
	}
	return builtIn(deliverText)
}

// opening returns the first lines. They are the same whatever happened, so that no event chooses how a prompt begins.
func opening(in Input) string {
	var b strings.Builder
	if in.Retry {
		b.WriteString("This was handed over before and the run was cut off. Look at what is already done before you do anything, " +
			"and do only what is left.\n\n")
	}
	if said(in.Events) {
		fmt.Fprintf(&b, "Loop brings you word from the person at this machine about %s.\n", in.Item.Ref())
	} else {
		fmt.Fprintf(&b, "Loop brings you news from GitHub about %s.\n", in.Item.Ref())
	}
	if in.Missed > 0 {
		fmt.Fprintf(&b, "While this session was paused, %s not brought to you: read what is new on the thread.\n", count(in.Missed, "event was", "events were"))
	}
	if n := len(in.Events); n > 1 {
		fmt.Fprintf(&b, "%d events are waiting. They follow in the order in which they happened; read them all before you act.\n", n)
	}
	return b.String()
}

// closing returns the last lines, which hold for every prompt: how to answer without being woken by the answer, and how to
// say that the work is over.
func closing(item loop.WorkItem) string {
	return fmt.Sprintf("\nTo say something on the thread, with the text on stdin, run: loopctl comment '%[2]s' -\n"+
		"To ask what you cannot go on without, run: loopctl ask '%[2]s' - and end your turn; the answer is brought to you.\n"+
		"End every comment and review that you post in another way with the line\n%[1]s\nso that it is not brought back to you. "+
		"When all work on %[2]s is finished, run: loopctl sessions close --work-item '%[2]s'\n", loop.Marker, item.Ref())
}

// startedByHand is what is said of such a start.
func startedByHand(item loop.WorkItem) loop.Event {
	repo := loop.Repo{Host: item.Host, Owner: item.Owner, Name: item.Repo}
	return loop.Event{Kind: loop.KindStart, Repo: repo, Item: loop.Item{Number: item.Number}, URL: item.URL()}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

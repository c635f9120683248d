package prompt

import (
	"regexp"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// message is what the person at this machine says. It stands outside of the fence: they could as well type it themselves.
// Nothing in it steers a terminal or looks like an end of the fence.
func message(e loop.Event) string {
	return "Message from " + sender(e) + ", not from GitHub. Take it as if it had been typed here:\n\n" +
		strings.TrimSpace(blunt(visible(e.Text)))
}

var accountPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)

// sender names who a message is from.
func sender(e loop.Event) string {
	const person = "the person at this machine"
	if accountPattern.MatchString(e.Actor.Login) {
		return e.Actor.Login + ", " + person
	}
	return person
}

// said reports whether events are messages alone.
func said(events []loop.Event) bool {
	isNews := func(e loop.Event) bool { return e.Kind != loop.KindSend }
	return len(events) > 0 && !slices.ContainsFunc(events, isNews)
}

// introduced returns the events of a prompt. A new conversation whose first word is a message is told before it what it is for.
func introduced(in Input) []loop.Event {
	if in.Spawn && len(in.Events) > 0 && in.Events[0].Kind == loop.KindSend {
		return slices.Concat([]loop.Event{startedByHand(in.Item)}, in.Events)
	}
	return in.Events
}

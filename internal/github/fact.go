package github

import (
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// fact names what happened, the same for each report of it, and "" for what is never acted on: an edit or a deletion, a
// check that is not over, an event that says too little to be told from another.
func fact(ev loop.Event) string {
	switch {
	case ev.Kind.CI():
		return ciFact(ev)
	case ev.Kind == loop.KindIssueComment && ev.Action == "created":
		return idFact("comment:", ev, "", ev.Comment.ID)
	case ev.Kind == loop.KindPullRequestComment && ev.Action == "created":
		return idFact("comment:", ev, "r", ev.Comment.ID) // numbered apart from conversation comments, as in #discussion_r7
	case ev.Kind == loop.KindPullRequestReview && ev.Action == "submitted":
		return idFact("review:", ev, "", ev.Review.ID)
	case ev.Kind == loop.KindIssues || ev.Kind == loop.KindPullRequest:
		return itemFact(ev)
	}
	return ""
}

func ciFact(ev loop.Event) string {
	if pending(ev) || ev.CI.Conclusion == "" {
		return ""
	}
	id := idFact(string(ev.Kind)+":", ev, "", ev.CI.ID)
	if id == "" {
		return ""
	}
	return id + ":" + strconv.Itoa(ev.CI.Attempt) + ":" + ev.CI.Conclusion
}

func itemFact(ev loop.Event) string {
	key := string(ev.WorkItem().Key())
	if key == "" {
		return ""
	}
	switch ev.Action {
	case "opened":
		return "opened:" + key
	case "labeled":
		if ev.Label == "" {
			return ""
		}
		return timeFact("label:"+key+":"+strings.ToLower(ev.Label), ev.At)
	case "closed":
		return timeFact("close:"+key, ev.At)
	case "reopened", "ready_for_review":
		return timeFact(ev.Action+":"+key, ev.At)
	}
	return ""
}

// idFact makes a fact of GitHub's number of a thing. Each host counts for itself.
func idFact(prefix string, ev loop.Event, series string, id int64) string {
	if id == 0 {
		return ""
	}
	if ev.Repo.Host != "" {
		prefix += ev.Repo.Host + "/"
	}
	return prefix + series + strconv.FormatInt(id, 10)
}

func timeFact(prefix string, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return prefix + ":" + at.UTC().Format(time.RFC3339)
}

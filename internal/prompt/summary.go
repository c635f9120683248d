package prompt

import (
	"strconv"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// Summary returns an event as one line for lists, such as "comment on acme/shop#15 by octocat". Nothing in it is free text
// of a stranger.
func Summary(e loop.Event) string {
	if e.Kind.CI() {
		return words(spaced(eventName(e.Kind)), spaced(matching(actionPattern, e.CI.Conclusion)), "on", place(e))
	}
	var what []string
	switch e.Kind {
	case loop.KindSend:
		return "message from " + sender(e)
	case loop.KindStart: // whose it is, is not told
		return words("start on", place(e))
	case loop.KindIssueComment:
		what = []string{"comment", unless(e.Action, "created"), "on", place(e)}
	case loop.KindPullRequestComment:
		what = []string{"review comment", unless(e.Action, "created"), "on", place(e)}
	case loop.KindPullRequestReview:
		what = []string{"review", unless(e.Action, "submitted"), verdict(e.Review), "on", place(e)}
	case loop.KindIssues:
		what = []string{"issue", place(e), unless(e.Action, "")}
	case loop.KindPullRequest:
		what = []string{"pull request", place(e), unless(e.Action, "")}
	default:
		what = []string{spaced(eventName(e.Kind)), unless(e.Action, ""), "on", place(e)}
	}
	return words(words(what...), "by", login(e.Actor))
}

// unless returns an action in plain words, and nothing where it is the usual one.
func unless(did, usual string) string {
	if did == usual {
		return ""
	}
	return spaced(action(did))
}

func verdict(r loop.Review) string {
	if r.State == "" {
		return ""
	}
	return "(" + spaced(matching(actionPattern, r.State)) + ")"
}

// place returns what the event is about, as short as it is clear: OWNER/REPO#N, or for a check without a pull request
// OWNER/REPO and the beginning of the commit.
func place(e loop.Event) string {
	repo := repoName(e.Repo)
	if n := e.Item.Number; n > 0 {
		return repo + "#" + strconv.Itoa(n)
	}
	if len(e.CI.PRs) > 0 {
		return repo + "#" + strconv.Itoa(e.CI.PRs[0].Number)
	}
	if shaPattern.MatchString(e.CI.SHA) {
		return repo + " at " + e.CI.SHA[:7]
	}
	return repo
}

func spaced(s string) string { return strings.ReplaceAll(s, "_", " ") }

// words joins those that are not empty.
func words(w ...string) string { return strings.Join(strings.Fields(strings.Join(w, " ")), " ") }

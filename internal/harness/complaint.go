package harness

import (
	"regexp"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// The words in which programs other than Claude Code were seen to say that they cannot work now. They are looked for only in
// what a program says of its own failure, never in what an agent answered.
var (
	usedUp = regexp.MustCompile(`(?i)\busage limit\b|\bhit your (\S+ ){0,3}limit\b|\b(request|spend|credit)s? limit (reached|exceeded)|` +
		`\bquota (was )?exceeded|exceeded your (current )?quota|insufficient_quota|\bout of (usage|credits|requests)\b|credit balance is too low`)
	loggedOut = regexp.MustCompile(`(?i)\bnot logged in\b|\bauthentication (is )?required\b|\bunauthorized\b|\bunauthenticated\b|` +
		`\b(invalid|incorrect|no) api key\b|\bapi key is (invalid|missing)\b|\bplease (run|use) .{0,40}\blogin\b|` +
		`missing environment variable: \S*(key|token)`)
	tooMany     = regexp.MustCompile(`(?i)\btoo many requests\b|\brate.?limit|resource_exhausted`)
	tooBusy     = regexp.MustCompile(`(?i)\boverloaded\b|\bhigh demand\b|\bservice unavailable\b|\[unavailable\]`)
	outOfReach  = regexp.MustCompile(`ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ETIMEDOUT|(?i)connection (refused|failed)|failed to lookup address|network is unreachable`)
	errorStatus = regexp.MustCompile(`(?i)\b(?:status|http|error|code)(?: code)?["':=( ]{1,4}([45]\d\d)\b`)
)

// readComplaint returns what holds every conversation of a harness up, if that is what its program says in text.
func readComplaint(text string, at time.Time) (loop.Outcome, bool) {
	status := ""
	if m := errorStatus.FindStringSubmatch(text); m != nil {
		status = m[1]
	}
	switch {
	case usedUp.MatchString(text):
		return loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldUsageLimit, Until: resetTime(text, at)}, true
	case status == "401", loggedOut.MatchString(text):
		return held(loop.HeldNotLoggedIn)
	case status == "429", tooMany.MatchString(text):
		return held(loop.HeldRateLimited)
	case status == "529", status == "503", tooBusy.MatchString(text):
		return held(loop.HeldOverloaded)
	case outOfReach.MatchString(text):
		return held(loop.HeldUnreachable)
	}
	return loop.Outcome{}, false
}

// lastComplaint looks for the last line of stderr that is such a complaint, and returns it as the detail: what a program adds
// to it may follow.
func lastComplaint(stderr []byte, at time.Time) (loop.Outcome, bool) {
	for rest := strings.TrimSpace(uncolored(string(stderr))); rest != ""; {
		end := strings.LastIndexByte(rest, '\n')
		if out, ok := readComplaint(rest[end+1:], at); ok {
			out.Detail = oneLine(rest[end+1:])
			return out, true
		}
		rest = rest[:max(end, 0)]
	}
	return loop.Outcome{}, false
}

package harness

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

func (c *claude) Complete(stdout []byte) bool {
	_, ok := findAnswer(stdout)
	return ok
}

func (c *claude) Text(stdout []byte) string {
	a, _ := findAnswer(stdout)
	return cmp.Or(a.Result, strings.Join(a.Errors, "\n"))
}

// Read judges by the answer where there is one: a program that was ended after it had answered has still answered. Its own
// exit status can only make a good answer bad.
func (c *claude) Read(x Exit) loop.Outcome {
	a, answered := findAnswer(x.Stdout)
	if !answered {
		out := x.unanswered(claudeName, func() (loop.Outcome, bool) { return c.complaint(x) })
		out.Duration, out.Killed = x.Took, x.Killed
		return out
	}
	out := readAnswer(a, x)
	out.Turns, out.CostUSD, out.Killed = a.NumTurns, a.CostUSD, x.Killed
	out.Duration = cmp.Or(time.Duration(a.DurationMS)*time.Millisecond, x.Took)
	if a.SessionID.Check() == nil {
		out.SessionID = a.SessionID
	}
	return out
}

func readAnswer(a answer, x Exit) loop.Outcome {
	text := oneLine(cmp.Or(a.Result, strings.Join(a.Errors, "; ")))
	switch {
	case a.succeeded() && x.clean():
		return loop.Outcome{Kind: loop.RunDone, Detail: text, Denials: a.denied()}
	case a.succeeded():
		return failed("claude answered, but ended with %s: %s", x.status(), text)
	case x.End == Stopped:
		return loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request: " + text}
	case !*a.IsError:
		return failed("claude ran no turn: %s", text)
	}
	if out, ok := readHold(a, x.At); ok {
		out.Detail = text
		return out
	}
	if x.End == TimedOut {
		return x.timedOut(claudeName)
	}
	return failed("claude could not finish the turn: %s", cmp.Or(text, "it gave no reason"))
}

// complaint reads what claude says on stderr alone.
func (c *claude) complaint(x Exit) (loop.Outcome, bool) {
	switch {
	case x.refused(unknownSession):
		return loop.Outcome{Kind: loop.RunLost}, true
	case x.refused(usedSession):
		return loop.Outcome{Kind: loop.RunFailed, Reason: loop.FailedIDInUse}, true
	case x.refused(notLoggedIn):
		return held(loop.HeldNotLoggedIn)
	}
	return loop.Outcome{}, false
}

var (
	unknownSession = regexp.MustCompile(`No conversation found with session ID|--resume requires a valid session ID`)
	usedSession    = regexp.MustCompile(`Session ID \S+ is already in use`)
	notLoggedIn    = regexp.MustCompile(`(?i)not logged in|/login\b|invalid api key|authentication_error|oauth (access )?token (has expired|has been revoked)`)
	noCredit       = regexp.MustCompile(`(?i)credit balance is too low|out of (usage credits|extra usage)|hit your (\S+ )?monthly spend limit`)
	usageLimit     = regexp.MustCompile(`(?i)\busage limit\b|\bhit your (\S+ ){0,3}limit\b|\blimit reached\b.*(\bresets\b|\|\d{10})`)
	apiStatus      = regexp.MustCompile(`\bAPI Error: (?:\D{0,40}\()?(\d{3})\b`)
	noConnection   = regexp.MustCompile(`(?i)API Error: (Connection|Unable to connect|Request timed out)|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ETIMEDOUT`)
)

// readHold returns what holds every conversation of this harness up, if it is that: the fault lies with the account or the
// API, and asking again at once would not help. Only the text of an error is read, never what an agent answered.
func readHold(a answer, at time.Time) (loop.Outcome, bool) {
	status := a.APIStatus
	if m := apiStatus.FindStringSubmatch(a.Result); status == 0 && m != nil {
		status, _ = strconv.Atoi(m[1])
	}
	switch {
	case a.APIError == "usage_limit_reached", usageLimit.MatchString(a.Result), noCredit.MatchString(a.Result):
		return loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldUsageLimit, Until: resetTime(a.Result, at)}, true
	case status == 401, notLoggedIn.MatchString(a.Result):
		return held(loop.HeldNotLoggedIn)
	case status == 429:
		return held(loop.HeldRateLimited)
	case status == 529, status == 503:
		return held(loop.HeldOverloaded)
	case a.APIError == "connection_failed", status == 0 && noConnection.MatchString(a.Result):
		return held(loop.HeldUnreachable)
	}
	return loop.Outcome{}, false
}

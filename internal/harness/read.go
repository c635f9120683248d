package harness

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// What the agents share in reading how a run ended.

func failed(format string, args ...any) loop.Outcome {
	return loop.Outcome{Kind: loop.RunFailed, Detail: oneLine(fmt.Sprintf(format, args...))}
}

func held(reason string) (loop.Outcome, bool) {
	return loop.Outcome{Kind: loop.RunHeld, Reason: reason}, true
}

// timedOut is the outcome of a run that had no answer when its time was up.
func (x Exit) timedOut(name string) loop.Outcome {
	detail := fmt.Sprintf("no answer within its time; %s was ended after %s", name, x.Took.Round(time.Second))
	return loop.Outcome{Kind: loop.RunTimeout, Detail: detail}
}

// unanswered reads a run that printed no answer: what a program has to say of that is on stderr. Complaint says what it
// means, where it means something.
func (x Exit) unanswered(name string, complaint func() (loop.Outcome, bool)) loop.Outcome {
	switch x.End {
	case Stopped:
		return loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request before it answered"}
	case TimedOut:
		return x.timedOut(name)
	case CutOff:
		return loop.Outcome{Kind: loop.RunCutOff, Detail: "cut off before it answered"}
	}
	said, printed := lastLine(string(x.Stderr)), oneLine(string(x.Stdout))
	if out, ok := complaint(); ok {
		out.Detail = cmp.Or(out.Detail, said)
		return out
	}
	switch {
	case x.Cut:
		return failed("%s printed more than Loop keeps, and no answer in it", name)
	case printed != "" && (said == "" || x.clean()):
		return failed("%s ended with %s and printed something else than an answer: %s", name, x.status(), printed)
	case said != "":
		return failed("%s ended with %s: %s", name, x.status(), said)
	}
	return failed("%s ended with %s and printed nothing", name, x.status())
}

// clean reports whether nothing is to be held against the way in which the process ended.
func (x Exit) clean() bool { return x.End != Exited || x.Code == 0 && x.Signal == 0 }

// refused reports whether the program gave up with such a complaint and did nothing.
func (x Exit) refused(complaint *regexp.Regexp) bool {
	return x.Code != 0 && len(x.Stdout) == 0 && complaint.Match(x.Stderr)
}

// status returns how the process ended, in words.
func (x Exit) status() string {
	if x.Signal != 0 {
		return "signal " + x.Signal.String()
	}
	return "exit status " + strconv.Itoa(x.Code)
}

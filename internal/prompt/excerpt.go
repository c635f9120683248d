package prompt

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loop-daemon/loop/internal/loop"
)

// How many characters of an event an agent is given: of one text that somebody wrote at length, and of everything.
const (
	textLimit    = 3500
	eventLimit   = 4000
	addressLimit = 1000 // of a path or a URL, both of which then always have room
	lineLimit    = 256  // of any other short fact
)

// excerpts returns the data of each event, and of a start by hand when there is none.
func excerpts(in Input) []string {
	if len(in.Events) == 0 {
		x := &excerpt{}
		x.text("request", in.Text)
		return []string{x.String()}
	}
	blocks := make([]string, len(in.Events))
	for i, e := range in.Events {
		request := ""
		if i == 0 {
			request = in.Text
		}
		blocks[i] = excerptOf(e, request)
	}
	return blocks
}

// excerptOf picks what an agent is told of an event: nothing else of a payload reaches it. Short facts come first, so that a
// long text never costs a path or an address.
func excerptOf(e loop.Event, request string) string {
	x := &excerpt{}
	if pageURL(e) == unknown {
		x.line("url", e.URL)
	}
	switch {
	case e.Kind.CI():
		x.check(e.CI)
	case request != "":
		x.item(e)
		x.text("request", request)
	case e.Kind == loop.KindIssueComment:
		x.item(e)
		x.line("comment author", e.Comment.Author.Login)
		x.text("comment", e.Comment.Body)
	case e.Kind == loop.KindPullRequestComment:
		x.item(e)
		x.line("path", e.Comment.Path)
		x.number("line", e.Comment.Line)
		x.line("comment author", e.Comment.Author.Login)
		x.text("comment", e.Comment.Body)
	case e.Kind == loop.KindPullRequestReview:
		x.item(e)
		x.line("verdict", e.Review.State)
		x.line("review author", e.Review.Author.Login)
		x.text("review", e.Review.Body)
	default:
		x.item(e)
		x.line("label", e.Label)
		x.text("body", e.Item.Body)
	}
	return x.String()
}

// excerpt collects the data of one event. What is empty is left out.
type excerpt struct {
	lines []string
	used  int // characters, line ends included
}

func (x *excerpt) item(e loop.Event) {
	kind := "issue"
	if e.Item.PR {
		kind = "pull request"
	}
	if w := e.WorkItem(); !w.IsZero() {
		x.line("item", kind+" "+w.Ref())
	}
	x.line("title", e.Item.Title)
	x.line("author", e.Item.Author.Login)
	x.line("labels", strings.Join(e.Item.Labels, ", "))
}

func (x *excerpt) check(ci loop.CI) {
	x.line("name", ci.Name)
	x.line("conclusion", ci.Conclusion)
	x.line("sha", ci.SHA)
	x.line("branch", ci.Branch)
	x.line("app", ci.App)
	x.text("summary", ci.Summary)
}

// line adds a short fact.
func (x *excerpt) line(name, value string) {
	limit := lineLimit
	if name == "path" || name == "url" {
		limit = addressLimit
	}
	if value = clip(safeLine(value), limit); value != "" {
		x.add(name + ": " + value)
	}
}

func (x *excerpt) number(name string, n int) {
	if n > 0 {
		x.add(name + ": " + strconv.Itoa(n))
	}
}

// text adds what somebody wrote at length. It comes last, so that nothing in it can pass for another fact.
func (x *excerpt) text(name, value string) {
	name += " (to the end of the data):\n"
	left := eventLimit - x.used - utf8.RuneCountInString(name)
	if value = clip(strings.TrimSpace(safeText(value)), min(textLimit, left)); value != "" {
		x.add(name + value)
	}
}

func (x *excerpt) add(line string) {
	x.lines = append(x.lines, line)
	x.used += utf8.RuneCountInString(line) + 1
}

func (x *excerpt) String() string {
	if len(x.lines) == 0 {
		return "(nothing)"
	}
	return strings.Join(x.lines, "\n")
}

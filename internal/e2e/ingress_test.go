package e2e_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// happening is what people do on items of its own, and what is to come of it.
type happening struct {
	name    string
	before  func(s scene) // what is there since long
	session bool          // the first item has one by then
	do      func(s scene)
	facts   []string // what came of each thing that happened: the decision, or why it was dropped
	ends    string   // how the session stands then
	agent   string   // what the agent was told, once; "": nothing
}

const firstItem = 100

// scene is a happening in a world: its items have the numbers from at on, fewer than ten.
type scene struct {
	*hub

	at int
}

func (s scene) ref(plus int) string { return fmt.Sprintf("github:acme/shop#%d", s.at+plus) }

func (s scene) open(plus int, it githubtest.Item) *githubtest.Thread {
	it.Number = s.at + plus
	if it.PR {
		it.Head, it.HeadSHA = fmt.Sprintf("topic-%d", it.Number), fmt.Sprintf("%040x", it.Number)
	}
	return s.shop.Open("octocat", it)
}

func (s scene) item(plus int) *githubtest.Thread { return s.shop.Thread(s.at + plus) }

// issue is an issue, marked one to which a stranger gave the label, pull one with a pull request that closes it, and lone a pull request.
func issue(s scene) { s.open(0, githubtest.Item{}) }

func marked(s scene) {
	issue(s)
	s.gh.Advance(time.Minute)
	s.item(0).Label("mallory", autoExecute)
}

func pull(s scene) {
	issue(s)
	s.open(1, githubtest.Item{PR: true, Body: fmt.Sprintf("Closes #%d", s.at)})
}

func nothing(scene) {}

func lone(s scene) { s.open(0, githubtest.Item{PR: true}) }

// says is somebody's comment on the first item.
func says(who, text string) func(scene) {
	return func(s scene) { s.item(0).Comment(who, text) }
}

func happenings() []happening {
	return []happening{
		{"a comment", issue, true, says("octocat", "look here"), []string{"deliver"}, "active", "look here"},
		{"a comment on a pull request", pull, true, func(s scene) { s.item(1).Comment("octocat", "look there") }, []string{"deliver"}, "active", "look there"},
		{"a comment on a line", pull, true, func(s scene) {
			s.item(1).Review("octocat", githubtest.Review{State: "approved"}, githubtest.Comment{Body: "this line", Path: "shop.go", Line: 3})
		}, []string{"deliver", "not-delivered"}, "active", "this line"},
		{"a review", pull, true, func(s scene) {
			s.item(1).Review("octocat", githubtest.Review{State: "changes_requested", Body: "not yet"})
		}, []string{"deliver"}, "active", "not yet"},
		{"an approval", pull, true, func(s scene) { s.item(1).Review("octocat", githubtest.Review{State: "approved"}) }, []string{"not-delivered"}, "active", ""},
		{"a label", issue, false, func(s scene) { s.item(0).Label("octocat", autoExecute) }, []string{"spawn"}, "active", "labeled"},
		{
			"an issue with a label", nothing, false, func(s scene) { s.open(0, githubtest.Item{Labels: []string{autoExecute}}) },
			[]string{"not-delivered", "spawn"},
			"active", "opened",
		},
		{
			"a reopened issue", func(s scene) { issue(s); s.item(0).Close("octocat", "") }, true, func(s scene) { s.item(0).Reopen("octocat") },
			[]string{"deliver"},
			"active", "reopened",
		},
		{
			"a reopened pull request", func(s scene) { lone(s); s.item(0).Close("octocat", "") }, true, func(s scene) { s.item(0).Reopen("octocat") },
			[]string{"deliver"},
			"active", "reopened",
		},
		{
			"a draft that is ready", func(s scene) { s.open(0, githubtest.Item{PR: true, Draft: true}) }, true,
			func(s scene) { s.item(0).SetDraft("octocat", false) },
			[]string{"deliver"},
			"active", "ready_for_review",
		},
		{"a failed run", lone, true, func(s scene) {
			s.shop.Workflow(githubtest.Check{Conclusion: "failure", SHA: s.item(0).HeadSHA, Branch: s.item(0).Head})
		}, []string{"deliver"}, "active", "failure"},
		{"a closed issue", issue, true, func(s scene) { s.item(0).Close("mallory", "") }, []string{"close"}, "closed issue-closed", ""},
		{"a closed pull request", lone, true, func(s scene) { s.item(0).Close("mallory", "") }, []string{"close"}, "closed pr-closed", ""},
		{"a merge", lone, true, func(s scene) { s.item(0).Merge("mallory") }, []string{"close"}, "closed pr-merged", ""},
		{"a merge that closes an issue", pull, true, func(s scene) { s.item(1).Merge("mallory") }, []string{"close", "no-session"}, "closed pr-merged", ""},
		{"a pause", issue, true, says("octocat", "/loop pause"), []string{"command"}, "paused", ""},
		{"a stop", issue, true, says("octocat", "/loop stop"), []string{"close"}, "closed stopped", ""},
		{"a start", marked, false, says("octocat", "/loop start with the door"), []string{"spawn"}, "active", "with the door"},
		{"two commands", issue, true, says("octocat", "/loop pause\n/loop stop"), []string{"ambiguous-command"}, "active", ""},
		{"a stranger's comment", issue, true, says("mallory", "look"), []string{"unauthorized-actor"}, "active", ""},
		{"a stranger's command", issue, true, says("mallory", "/loop stop"), []string{"unauthorized-actor"}, "active", ""},
		{"a stranger's label", issue, false, func(s scene) { s.item(0).Label("mallory", autoExecute) }, []string{"unauthorized-actor"}, "", ""},
		{"a stranger's label on a new issue", nothing, false, func(s scene) {
			issue(s)
			s.item(0).Label("mallory", autoExecute)
		}, []string{"not-labeled", "unauthorized-actor"}, "", ""},
		{"an agent's comment", issue, true, says("octocat", "done\n<!-- loop -->"), []string{"self-authored"}, "active", ""},
	}
}

// leg is a part of the way on which what happens comes to loopd.
type leg struct {
	name string
	come func(h *hub, sent []githubtest.Delivery)
}

var (
	webhook = leg{"webhook", func(h *hub, sent []githubtest.Delivery) { h.deliver(sent) }}
	polling = leg{"poll", func(h *hub, _ []githubtest.Delivery) { h.poll() }}
	restart = leg{"restart", func(h *hub, _ []githubtest.Delivery) { h.stop(); h.start() }}
)

// way is all of it.
type way []leg

func (w way) String() string {
	var names []string
	for _, l := range w {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

func (w way) without(gone leg) way {
	return slices.DeleteFunc(slices.Clone(w), func(l leg) bool { return l.name == gone.name })
}

// Given sessions, and items that are to get one,
// When each kind of thing happens on GitHub, and is told by the webhook, by a cycle, or by both in either order, across a restart too,
// Then the same is decided for the same item, the agent is told the same, once, and the session ends up the same.
func TestWhoeverBringsItItIsTheSame(t *testing.T) {
	t.Parallel()
	ways := []way{
		{webhook}, {polling}, {webhook, polling}, {polling, webhook}, {webhook, restart, polling}, {polling, restart, webhook},
	}
	now := time.Now().Truncate(time.Second)
	all := make([][]outcome, len(ways))
	t.Run("ways", func(t *testing.T) {
		for i, w := range ways {
			t.Run(w.String(), func(t *testing.T) {
				t.Parallel()
				all[i] = w.run(t, now)
			})
		}
	})
	if t.Failed() {
		return
	}
	for i, what := range happenings() {
		t.Run(what.name, func(t *testing.T) {
			t.Parallel()
			first := all[0][i]
			if diff := cmp.Diff(what.expects(i), first.essence()); diff != "" {
				t.Errorf("what came of it (-want +got):\n%s", diff)
			}
			if text := strings.Join(first.Prompts, ""); !strings.Contains(text, what.agent) {
				t.Errorf("the agent was not told of %s:\n%s", what.agent, text)
			}
			for j, w := range ways[1:] {
				if diff := cmp.Diff(first, all[j+1][i]); diff != "" {
					t.Errorf("by %s it is not as by %s:\n%s", w, ways[0], diff)
				}
			}
		})
	}
}

// outcome is what a person sees of a happening.
type outcome struct {
	Facts    []fact
	Prompts  []string // as the harness got them
	Sessions []string // item, status and why
}

// fact is what `loopctl deliveries list -o json` prints of a delivery, but for its id, its times, and who brought it.
type fact struct {
	Fact, Kind, Summary, Decision, State, Reason, Error string
	Attempts                                            int
	WorkItem                                            struct{ Ref string }
}

// essence is the part of an outcome that a happening says beforehand.
type essence struct {
	Facts    []string
	Prompts  int
	Sessions []string
}

func (w happening) expects(i int) essence {
	e := essence{Facts: w.facts}
	if w.agent != "" {
		e.Prompts = 1
	}
	if w.ends != "" {
		e.Sessions = []string{fmt.Sprintf("github:acme/shop#%d %s", firstItem+10*i, w.ends)}
	}
	return e
}

func (o outcome) essence() essence {
	e := essence{Prompts: len(o.Prompts), Sessions: o.Sessions}
	for _, f := range o.Facts {
		if f.Reason != "" {
			f.Decision = f.Reason
		}
		e.Facts = append(e.Facts, f.Decision)
	}
	slices.Sort(e.Facts)
	return e
}

// run has everything happen in one world, and returns what came of each happening.
func (w way) run(t *testing.T, now time.Time) []outcome {
	t.Helper()
	h := newHub(t, "")
	h.gh.SetClock(func() time.Time { return now.Add(-2 * time.Hour) }) // it stands, so that all worlds have the same times
	h.start()
	h.poll() // the next cycle is one that the way has
	var scenes []scene
	for i, what := range happenings() {
		scenes = append(scenes, scene{h, firstItem + 10*i})
		what.before(scenes[i])
	}
	h.gh.Advance(2 * time.Hour)
	for i, what := range happenings() {
		if what.session {
			h.register(scenes[i].ref(0), fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
		}
	}
	w.without(restart).travel(h) // what was there since long
	before := h.deliveries()
	h.gh.Advance(time.Minute)
	for i, what := range happenings() {
		what.do(scenes[i])
	}
	w.travel(h)
	return h.outcomes(len(scenes), len(before))
}

// travel has what happened come to loopd.
func (w way) travel(h *hub) {
	sent := h.hook.Take()
	for _, l := range w {
		l.come(h, sent)
		h.idle()
	}
}

// told is a delivery as it is listed.
type told struct {
	ID string
	fact
}

// deliveries returns all deliveries, the newest first.
func (h *hub) deliveries() (all []told) {
	h.t.Helper()
	h.decode(h.must("deliveries", "list", "--limit", "1000", "-o", "json"), &all)
	return all
}

// outcomes sorts all but the first deliveries, and the runs and sessions, by happening.
func (h *hub) outcomes(happenings, before int) []outcome {
	h.t.Helper()
	all := make([]outcome, happenings)
	of := func(item int) *outcome { return &all[(item-firstItem)/10] }
	deliveries := h.deliveries()
	for _, d := range deliveries[:len(deliveries)-before] {
		var p payload
		h.decode(h.ask("deliveries", "show", d.ID, "--body").stdout, &p)
		if d.Reason == "duplicate" || p.Comment.User.Login == githubtest.Operator {
			continue
		}
		of(p.item()).Facts = append(of(p.item()).Facts, d.fact)
	}
	for _, run := range h.runs() {
		i := slices.IndexFunc(run.Env, func(kv string) bool { return strings.HasPrefix(kv, "LOOP_WORK_ITEM=") })
		_, number, _ := strings.Cut(run.Env[i], "#")
		n, _ := strconv.Atoi(number)
		of(n).Prompts = append(of(n).Prompts, run.Prompt)
	}
	for _, s := range h.sessions() {
		of(s.WorkItem.Number).Sessions = append(of(s.WorkItem.Number).Sessions, s.String())
	}
	for _, o := range all {
		slices.SortFunc(o.Facts, func(a, b fact) int { return strings.Compare(a.Fact, b.Fact) })
	}
	return all
}

// payload is where payloads name their item, and who wrote a comment.
type payload struct {
	Issue       struct{ Number int }
	PullRequest struct{ Number int } `json:"pull_request"`
	WorkflowRun struct {
		PullRequests []struct{ Number int } `json:"pull_requests"`
	} `json:"workflow_run"`
	Comment struct{ User struct{ Login string } }
}

func (p payload) item() int {
	for _, pull := range p.WorkflowRun.PullRequests {
		return pull.Number
	}
	return max(p.Issue.Number, p.PullRequest.Number)
}

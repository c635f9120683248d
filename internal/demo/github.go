package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// request is a delivery as GitHub sends it.
type request struct {
	id    string
	event string
	body  []byte
	says  string // for the reader
}

func newRequest(event string, body []byte, says string) request {
	return request{id: uuid.NewString(), event: event, body: body, says: says}
}

// answer is what the receiver said.
type answer struct {
	status  int
	State   string
	Reason  string
	Message string // of a refusal
}

func (a answer) String() string {
	return brief(fmt.Sprintf("%d %s %s %s", a.status, a.State, a.Reason, a.Message))
}

// post sends a delivery to the receiver, signed with a secret.
func (s *stage) post(ctx context.Context, r request, secret []byte) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no answer within %s", startLimit))
	defer cancel()
	req, err := githubtest.NewRequest(ctx, s.url, secret, r.event, r.id, r.body)
	if err != nil {
		return answer{}, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this machine
	res, err := client.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("post a delivery: %w%s", err, s.logTail())
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return answer{}, err
	}
	a := answer{status: res.StatusCode}
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("the receiver answered %d with %q, which is no JSON", res.StatusCode, body)
	}
	return a, nil
}

// delivery is what loopctl tells of one.
type delivery struct {
	ID       string
	State    string
	Reason   string
	Error    string
	Run      string
	Attempts int
}

// settle waits until a delivery needs nothing more, or can't go on.
func (s *stage) settle(ctx context.Context, id string) (delivery, error) {
	for {
		var d delivery
		if err := s.ask(ctx, &d, "deliveries", "show", id); err != nil {
			return d, err
		}
		switch state := loop.State(d.State); {
		case state.Final():
			return d, nil
		case state == loop.StateWaiting && d.Reason == loop.WaitHarness:
			return d, fmt.Errorf("the harness cannot work now: %s", d.Error)
		}
		if ctx.Err() != nil {
			return d, fmt.Errorf("the delivery is still %s: %w", d.State, context.Cause(ctx))
		}
		pause(ctx)
	}
}

// The items of the story.
const (
	ours  = "acme/shop#15"
	other = "acme/shop#16"
	third = "acme/shop#17"

	branch = "issue-15-cart"
	commit = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
)

func issue() githubtest.Item {
	return githubtest.Item{Number: 15, Title: "The cart forgets what is in it", Author: "ana"}
}

func pull() githubtest.Item {
	return githubtest.Item{Number: 18, PR: true, Title: "Keep the cart", Author: "ana", Head: branch, HeadSHA: commit}
}

func greeting() githubtest.Item {
	return githubtest.Item{
		Number: 16, Title: "A greeting is missing", Author: "ana",
		Body: "This is a demonstration: there is nothing to be done. Say hello in one short sentence.",
	}
}

func checkout() githubtest.Item {
	return githubtest.Item{Number: 17, Title: "Checkout is slow", Author: "ana", Body: "It takes a minute for three articles."}
}

// ref names an issue as loopctl takes it.
func ref(it githubtest.Item) string { return "acme/shop#" + strconv.Itoa(it.Number) }

// commented is a comment by somebody on an issue.
func commented(it githubtest.Item, id int64, by, text string) request {
	body := githubtest.IssueComment("created", by, it, githubtest.Comment{ID: id, Body: text})
	return newRequest("issue_comment", body, by+" comments on "+ref(it)+": "+text)
}

func labelled(it githubtest.Item) request {
	it.Labels = []string{autoExecute}
	return newRequest("issues", githubtest.Issues("labeled", "ana", it, githubtest.Label(autoExecute)),
		"ana sets the label “"+autoExecute+"” on "+ref(it))
}

// autoExecute is the label that asks for an agent unless the configuration names another.
const autoExecute = "the-loop: auto-execute"

func reviewed() request {
	c := githubtest.Comment{ID: 71, Body: "Why is it not emptied here?", Path: "cart.go", Line: 42}
	return newRequest("pull_request_review_comment", githubtest.PullRequestComment("created", "ana", pull(), c),
		"ana comments on line 42 of cart.go in the pull request acme/shop#18, of the branch "+branch)
}

func redRun() request {
	run := githubtest.Check{ID: 81, Name: "tests", SHA: commit, Branch: branch, Pulls: []githubtest.Pull{{Number: 18}}, Summary: "Keep the cart"}
	return newRequest("workflow_run", githubtest.WorkflowRun("completed", run), "the workflow “tests” failed for "+commit[:7])
}

func closed(it githubtest.Item) request {
	it.Closed, it.At = true, time.Now()
	return newRequest("issues", githubtest.Issues("closed", "ana", it), "ana closes "+ref(it))
}

package github

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

// Result is the result of a check, as far as there is one.
type Result struct {
	loop.CI
	Kind loop.Kind // KindWorkflowRun, KindCheckRun or KindStatus
	Over bool      // it has a conclusion
	At   time.Time // when it came to that or, while it is not over, changed
	URL  string    // its page

	raw jsontext.Value
}

// WorkflowRuns lists what GitHub Actions ran for a commit, the last run first.
func (c *Client) WorkflowRuns(ctx context.Context, r loop.Repo, sha string) (Listing[Result], error) {
	return c.runs(ctx, r, url.Values{"head_sha": {sha}})
}

// RecentWorkflowRuns lists what GitHub Actions ran in a repository since a time, the last run first. A run that is tried
// again keeps the time of its first attempt.
func (c *Client) RecentWorkflowRuns(ctx context.Context, r loop.Repo, from time.Time) (Listing[Result], error) {
	return c.runs(ctx, r, url.Values{"created": {">=" + since(from)}})
}

func (c *Client) runs(ctx context.Context, r loop.Repo, values url.Values) (Listing[Result], error) {
	return listAll(ctx, c, query{repo: r, path: repoPath(r) + "/actions/runs", values: values, member: "workflow_runs"},
		results(loop.KindWorkflowRun, r, ""))
}

// CheckRuns lists the last run of each check on a commit, those of GitHub Actions among them.
func (c *Client) CheckRuns(ctx context.Context, r loop.Repo, sha string) (Listing[Result], error) {
	return listAll(ctx, c, query{repo: r, path: repoPath(r) + "/commits/" + url.PathEscape(sha) + "/check-runs", member: "check_runs"},
		results(loop.KindCheckRun, r, sha))
}

// Statuses lists the last status of each context on a commit.
func (c *Client) Statuses(ctx context.Context, r loop.Repo, sha string) (Listing[Result], error) {
	l, err := listAll(ctx, c, query{repo: r, path: repoPath(r) + "/commits/" + url.PathEscape(sha) + "/statuses"},
		results(loop.KindStatus, r, sha))
	seen := map[string]bool{} // the newest is the first
	l.All = slices.DeleteFunc(l.All, func(s Result) bool {
		defer func() { seen[s.Name] = true }()
		return seen[s.Name]
	})
	return l, err
}

// results reads checks of a kind. What is asked for by the commit does not say the commit itself.
func results(kind loop.Kind, r loop.Repo, sha string) func(jsontext.Value) (Result, error) {
	return func(raw jsontext.Value) (Result, error) {
		ev := loop.Event{Kind: kind, Repo: r}
		p := payload{}
		var err error
		switch kind {
		case loop.KindStatus:
			err = json.Unmarshal(raw, &p.status, lenient())
		case loop.KindCheckRun:
			err = json.Unmarshal(raw, &p.CheckRun, lenient())
		default:
			err = json.Unmarshal(raw, &p.WorkflowRun, lenient())
		}
		p.readCI(&ev)
		if ev.CI.SHA == "" {
			ev.CI.SHA = sha
		}
		over := ev.CI.Conclusion != "" && ev.CI.Conclusion != "pending"
		return Result{CI: ev.CI, Kind: kind, Over: over, At: ev.At, URL: ev.URL, raw: raw.Clone()}, err
	}
}

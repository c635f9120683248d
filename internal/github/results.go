package github

import (
	"context"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

// Result is the result of a workflow run, as far as there is one.
type Result struct {
	loop.CI
	Over bool      // it has a conclusion
	At   time.Time // when it came to that or, while it is not over, changed
	URL  string    // its page

	raw jsontext.Value
}

// RecentWorkflowRuns lists what GitHub Actions ran in a repository since a time, the last run first. A run that is tried
// again keeps the time of its first attempt.
func (c *Client) RecentWorkflowRuns(ctx context.Context, r loop.Repo, from time.Time) (Listing[Result], error) {
	q := query{repo: r, path: repoPath(r) + "/actions/runs", values: url.Values{"created": {">=" + since(from)}}, member: "workflow_runs"}
	return listAll(ctx, c, q, func(raw jsontext.Value) (Result, error) {
		var p payload
		err := json.Unmarshal(raw, &p.WorkflowRun, lenient())
		ev := loop.Event{Kind: loop.KindWorkflowRun, Repo: r}
		p.readCI(&ev)
		return Result{CI: ev.CI, Over: ev.CI.Conclusion != "", At: ev.At, URL: ev.URL, raw: raw.Clone()}, err
	})
}

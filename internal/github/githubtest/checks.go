package githubtest

import (
	"strconv"
	"time"
)

// Check is the result of a workflow run, a check run, a check suite or a status. What is left out has a plain default.
type Check struct {
	Repo       Repo
	ID         int64  // default 3001
	Attempt    int    // default 1; of a workflow run only
	Name       string // default "test"
	Conclusion string // default "failure"; of a status its state
	SHA        string // default forty times a
	Branch     string // default "topic"
	App        string // slug of the app; default "github-actions"
	Fork       string // owner of the fork that the branch is in; "" is the same repository
	Pulls      []Pull // attached pull requests: GitHub attaches none of a fork's
	Summary    string
	At         time.Time
}

// Pull is a pull request that is attached to a check.
type Pull struct {
	Number int
	SHA    string // default: the check's
	Base   Repo   // default: the check's repository
}

// WorkflowRun returns the payload of a workflow_run event. Its sender is whoever pushed.
func WorkflowRun(action string, c Check, options ...Option) []byte {
	return c.write(action, "workflow_run", c.orDefault().workflowRun(action), options)
}

func (c Check) workflowRun(action string) map[string]any {
	run := c.json(action)
	run["run_attempt"], run["display_title"], run["event"] = c.Attempt, c.Summary, "pull_request"
	run["html_url"] = c.Repo.page() + "/actions/runs/" + strconv.FormatInt(c.ID, 10)
	run["head_repository"] = c.headRepo().json()
	return run
}

// CheckRun returns the payload of a check_run event.
func CheckRun(action string, c Check, options ...Option) []byte {
	return c.write(action, "check_run", c.orDefault().checkRun(action), options)
}

func (c Check) checkRun(action string) map[string]any {
	run := c.json(action)
	run["check_suite"] = map[string]any{"id": c.ID + 1, "head_branch": run["head_branch"], "head_sha": c.SHA}
	delete(run, "head_branch")
	run["app"] = map[string]any{"id": 1, "slug": c.App, "name": c.App}
	run["output"] = map[string]any{"title": nil, "summary": c.Summary, "text": nil}
	run["html_url"] = c.Repo.page() + "/runs/" + strconv.FormatInt(c.ID, 10)
	return run
}

// CheckSuite returns the payload of a check_suite event.
func CheckSuite(action string, c Check, options ...Option) []byte {
	return c.write(action, "check_suite", c.orDefault().checkSuite(action), options)
}

func (c Check) checkSuite(action string) map[string]any {
	suite := c.json(action)
	delete(suite, "name")
	suite["app"] = map[string]any{"id": 1, "slug": c.App, "name": c.Name}
	return suite
}

// Status returns the payload of a status event.
func Status(c Check, options ...Option) []byte {
	return write(c.orDefault().status(), options...)
}

func (c Check) status() map[string]any {
	return map[string]any{
		"id": c.ID, "sha": c.SHA, "state": c.Conclusion, "context": c.Name, "description": c.Summary,
		"target_url": "https://ci.example.com/" + strconv.FormatInt(c.ID, 10), "name": c.Repo.Owner + "/" + c.Repo.Name,
		"branches":   []any{map[string]any{"name": c.Branch, "commit": map[string]any{"sha": c.SHA}}},
		"commit":     map[string]any{"sha": c.SHA, "html_url": c.Repo.page() + "/commit/" + c.SHA},
		"created_at": stamp(c.At), "updated_at": stamp(c.At), "repository": c.Repo.json(), "sender": user("octocat"),
	}
}

func (c Check) orDefault() Check {
	c.Repo = c.Repo.orDefault()
	if c.ID == 0 {
		c.ID = 3001
	}
	if c.Attempt == 0 {
		c.Attempt = 1
	}
	if c.Name == "" {
		c.Name = "test"
	}
	if c.Conclusion == "" {
		c.Conclusion = "failure"
	}
	if c.SHA == "" {
		c.SHA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	}
	if c.Branch == "" {
		c.Branch = "topic"
	}
	if c.App == "" {
		c.App = "github-actions"
	}
	return c
}

func (c Check) headRepo() Repo {
	if c.Fork == "" {
		return c.Repo
	}
	return Repo{Host: c.Repo.Host, Owner: c.Fork, Name: c.Repo.Name}
}

func (c Check) json(action string) map[string]any {
	out := map[string]any{
		"id": c.ID, "name": c.Name, "head_sha": c.SHA, "head_branch": c.Branch, "status": "completed", "conclusion": c.Conclusion,
		"pull_requests": c.pulls(), "created_at": stamp(c.At), "updated_at": stamp(c.At),
	}
	if action != "completed" {
		out["status"], out["conclusion"] = "in_progress", nil
	}
	return out
}

func (c Check) pulls() []any {
	out := []any{}
	for _, p := range c.Pulls {
		if p.SHA == "" {
			p.SHA = c.SHA
		}
		base := p.Base
		if base == (Repo{}) {
			base = c.Repo
		}
		out = append(out, map[string]any{
			"id": 6000 + p.Number, "number": p.Number,
			"head": map[string]any{"ref": c.Branch, "sha": p.SHA, "repo": map[string]any{"id": c.headRepo().orDefault().ID, "name": c.Repo.Name}},
			"base": map[string]any{"ref": "main", "sha": "", "repo": map[string]any{"id": base.orDefault().ID, "name": base.orDefault().Name}},
		})
	}
	return out
}

func (c Check) write(action, name string, check map[string]any, options []Option) []byte {
	body := envelope(action, "octocat", c.Repo)
	body[name] = check
	return write(body, options...)
}

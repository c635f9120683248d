package github

import (
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// readCI fills in the result of a check, when it came and its page.
func (p payload) readCI(ev *loop.Event) {
	switch ev.Kind {
	case loop.KindWorkflowRun:
		p.WorkflowRun.is.read(ev)
	case loop.KindCheckRun:
		p.CheckRun.is.read(ev)
	case loop.KindCheckSuite:
		p.CheckSuite.is.read(ev)
		if ev.CI.Name == "" {
			ev.CI.Name = string(p.CheckSuite.is.App.is.Name)
		}
	case loop.KindStatus:
		p.status.read(ev)
	}
	ev.CI.Attempt = max(1, ev.CI.Attempt)
}

func (c check) read(ev *loop.Event) {
	ev.CI = loop.CI{
		ID:         int64(c.ID),
		Attempt:    int(c.Attempt),
		Name:       string(c.Name),
		Conclusion: strings.ToLower(string(c.Conclusion)),
		SHA:        string(c.HeadSHA),
		Branch:     string(c.HeadBranch),
		App:        string(c.App.is.Slug),
		Summary:    c.summary(),
	}
	if ev.CI.Branch == "" {
		ev.CI.Branch = string(c.CheckSuite.is.HeadBranch)
	}
	if c.HeadRepository.ok {
		ev.CI.HeadRepo = c.HeadRepository.is.repo(ev.Repo.Host)
	}
	c.readPulls(ev)
	ev.At = first(c.CompletedAt, c.UpdatedAt, c.StartedAt, c.CreatedAt)
	ev.URL = string(c.HTMLURL)
}

func (c check) summary() string {
	lines := []string{string(c.DisplayTitle), string(c.Output.is.Title), string(c.Output.is.Summary)}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// readPulls takes the pull requests that GitHub attached. In a fork it attaches those that the fork's branches made in the
// original as well: their numbers mean nothing here.
func (c check) readPulls(ev *loop.Event) {
	for _, pr := range c.PullRequests {
		if base := int64(pr.is.Base.is.Repo.is.ID); pr.is.Number == 0 || base != 0 && ev.Repo.ID != 0 && base != ev.Repo.ID {
			continue
		}
		head := pr.is.Head.is
		ev.CI.PRs = append(ev.CI.PRs, loop.PullHead{Number: int(pr.is.Number), SHA: string(head.SHA)})
		if id := int64(head.Repo.is.ID); ev.CI.HeadRepo == (loop.Repo{}) && id != 0 && id == ev.Repo.ID {
			ev.CI.HeadRepo = ev.Repo
		}
	}
}

func (s status) read(ev *loop.Event) {
	ev.CI = loop.CI{
		ID:         int64(s.ID),
		Name:       string(s.Context),
		Conclusion: strings.ToLower(string(s.State)),
		SHA:        string(s.SHA),
		Branch:     s.branch(),
		Summary:    string(s.Description),
	}
	ev.At = first(s.UpdatedAt, s.CreatedAt)
	ev.URL = string(s.TargetURL)
	if ev.URL == "" {
		ev.URL = string(s.Commit.is.HTMLURL)
	}
}

// branch returns the branch that ends at the status's commit, where there is just one: others merely contain it.
func (s status) branch() string {
	var name text
	for _, b := range s.Branches {
		if b.is.Commit.is.SHA != s.SHA {
			continue
		}
		if name != "" {
			return ""
		}
		name = b.is.Name
	}
	return string(name)
}

// pending reports whether a check is not over yet.
func pending(ev loop.Event) bool {
	if ev.Kind == loop.KindStatus {
		return ev.CI.Conclusion == "pending"
	}
	return ev.Action != "completed"
}

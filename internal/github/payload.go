package github

import (
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// payload is what Loop reads of a webhook's body, for all events together.
type payload struct {
	Action      text               `json:"action"`
	Number      number             `json:"number"`
	Sender      object[account]    `json:"sender"`
	Repository  object[repository] `json:"repository"`
	Issue       object[issue]      `json:"issue"`
	PullRequest object[issue]      `json:"pull_request"`
	Label       object[label]      `json:"label"`
	Comment     object[comment]    `json:"comment"`
	Review      object[review]     `json:"review"`
	WorkflowRun object[check]      `json:"workflow_run"`
	CheckRun    object[check]      `json:"check_run"`
	CheckSuite  object[check]      `json:"check_suite"`
	status      `json:",inline"`   // a status has no object of its own
}

type account struct {
	Login text   `json:"login"`
	ID    number `json:"id"`
	Type  text   `json:"type"`
}

func (a account) actor() loop.Actor {
	return loop.Actor{Login: string(a.Login), ID: int64(a.ID), Bot: a.Type == "Bot"}
}

type repository struct {
	ID       number          `json:"id"`
	Name     text            `json:"name"`
	Owner    object[account] `json:"owner"`
	FullName text            `json:"full_name"`
	HTMLURL  text            `json:"html_url"`
}

func (r repository) repo(host string) loop.Repo {
	owner, name, ok := strings.Cut(string(r.FullName), "/")
	if !ok {
		owner, name = string(r.Owner.is.Login), string(r.Name)
	}
	return loop.Repo{Host: host, Owner: owner, Name: name, ID: int64(r.ID)}
}

type label struct {
	Name text `json:"name"`
}

// issue is an issue, or a pull request as either event shows it.
type issue struct {
	Number    number              `json:"number"`
	Title     text                `json:"title"`
	Body      text                `json:"body"`
	User      object[account]     `json:"user"`
	Labels    list[object[label]] `json:"labels"`
	State     text                `json:"state"`
	CreatedAt instant             `json:"created_at"`
	UpdatedAt instant             `json:"updated_at"`
	ClosedAt  instant             `json:"closed_at"`
	MergedAt  instant             `json:"merged_at"`
	HTMLURL   text                `json:"html_url"`
	Pull      object[merge]       `json:"pull_request"` // in an issue that is a pull request
	Merged    flag                `json:"merged"`
	Draft     flag                `json:"draft"`
	Head      object[branch]      `json:"head"`
	Base      object[branch]      `json:"base"`
}

type merge struct {
	MergedAt instant `json:"merged_at"`
}

type branch struct {
	Ref  text               `json:"ref"`
	SHA  text               `json:"sha"`
	Repo object[repository] `json:"repo"`
}

// repo returns the branch's repository, and none where the payload names none: a fork may be gone.
func (b branch) repo(host string) loop.Repo {
	if !b.Repo.ok {
		return loop.Repo{}
	}
	return b.Repo.is.repo(host)
}

type comment struct {
	ID           number          `json:"id"`
	Body         text            `json:"body"`
	User         object[account] `json:"user"`
	Path         text            `json:"path"`
	Line         number          `json:"line"`
	OriginalLine number          `json:"original_line"`
	CreatedAt    instant         `json:"created_at"`
	UpdatedAt    instant         `json:"updated_at"`
	HTMLURL      text            `json:"html_url"`
}

type review struct {
	ID          number          `json:"id"`
	State       text            `json:"state"`
	Body        text            `json:"body"`
	User        object[account] `json:"user"`
	SubmittedAt instant         `json:"submitted_at"`
	HTMLURL     text            `json:"html_url"`
}

// check is a workflow run, a check run or a check suite.
type check struct {
	ID             number               `json:"id"`
	Attempt        number               `json:"run_attempt"`
	Name           text                 `json:"name"`
	Conclusion     text                 `json:"conclusion"`
	HeadSHA        text                 `json:"head_sha"`
	HeadBranch     text                 `json:"head_branch"`
	HeadRepository object[repository]   `json:"head_repository"`
	App            object[app]          `json:"app"`
	PullRequests   list[object[pulled]] `json:"pull_requests"`
	CheckSuite     object[suite]        `json:"check_suite"`
	Output         object[output]       `json:"output"`
	CreatedAt      instant              `json:"created_at"`
	UpdatedAt      instant              `json:"updated_at"`
	StartedAt      instant              `json:"started_at"`
	CompletedAt    instant              `json:"completed_at"`
	DisplayTitle   text                 `json:"display_title"`
	HTMLURL        text                 `json:"html_url"`
}

type app struct {
	Slug text `json:"slug"`
	Name text `json:"name"`
}

type suite struct {
	HeadBranch text `json:"head_branch"`
}

type output struct {
	Title   text `json:"title"`
	Summary text `json:"summary"`
}

// pulled is a pull request that GitHub attached to a check.
type pulled struct {
	Number number         `json:"number"`
	Head   object[branch] `json:"head"`
	Base   object[branch] `json:"base"`
}

type status struct {
	ID          number            `json:"id"`
	SHA         text              `json:"sha"`
	State       text              `json:"state"`
	Context     text              `json:"context"`
	Description text              `json:"description"`
	TargetURL   text              `json:"target_url"`
	Branches    list[object[tip]] `json:"branches"`
	Commit      object[commit]    `json:"commit"`
	CreatedAt   instant           `json:"created_at"`
	UpdatedAt   instant           `json:"updated_at"`
}

// tip is a branch that contains a status's commit, and the commit at its end.
type tip struct {
	Name   text           `json:"name"`
	Commit object[commit] `json:"commit"`
}

type commit struct {
	SHA     text `json:"sha"`
	HTMLURL text `json:"html_url"`
}

// first returns the first time that is known.
func first(times ...instant) time.Time {
	for _, t := range times {
		if t := time.Time(t); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

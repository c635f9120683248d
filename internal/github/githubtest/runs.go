package githubtest

import (
	"slices"
	"strings"
)

// run is a result of CI, of one of the four kinds, by the name of its event.
type run struct {
	kind string
	Check
	done bool
}

// Workflow reports a workflow run that ended, or with no conclusion in c.Conclusion "in_progress" one that goes on. A run
// with the id of another is its next attempt. It is attached to the open pull requests whose head it ran on, unless c says
// which, or that it is of a fork. Its id is returned.
func (r *Repository) Workflow(c Check) int64 { return r.report("workflow_run", c) }

// CheckRun reports a check run, as Workflow does.
func (r *Repository) CheckRun(c Check) int64 { return r.report("check_run", c) }

// CheckSuite reports a check suite, as Workflow does.
func (r *Repository) CheckSuite(c Check) int64 { return r.report("check_suite", c) }

// Status reports a status of a commit: c.Conclusion is error, failure, pending or success. No pull request is attached.
func (r *Repository) Status(c Check) int64 { return r.report("status", c) }

func (r *Repository) report(kind string, c Check) int64 {
	r.s.do(func(ch *change) {
		c.Repo, c.At = r.Repo, r.s.now()
		if c.ID == 0 {
			c.ID = r.s.id("check")
		}
		c = c.orDefault()
		if c.Pulls == nil && c.Fork == "" {
			c.Pulls = r.attached(c.SHA)
		}
		is := &run{kind, c, c.Conclusion != "in_progress"}
		r.runs = slices.DeleteFunc(r.runs, func(old *run) bool { return old.kind == kind && old.ID == c.ID })
		r.runs = append(r.runs, is)
		action := "completed"
		switch {
		case kind == "status":
			action = ""
		case !is.done && kind == "check_run":
			action = "created"
		case !is.done:
			action = "in_progress"
		}
		body := is.view()
		if kind != "status" {
			body = map[string]any{kind: body}
		}
		ch.emit(r, kind, action, "octocat", body)
	})
	return c.ID
}

func (r *Repository) attached(sha string) (pulls []Pull) {
	for _, t := range r.threads {
		if t.PR && !t.Closed && t.HeadSHA == sha && t.Fork == "" {
			pulls = append(pulls, Pull{Number: t.Number, SHA: sha, Base: r.Repo})
		}
	}
	return pulls
}

func (r *run) view() map[string]any {
	action := "completed"
	if !r.done {
		action = "in_progress"
	}
	switch r.kind {
	case "workflow_run":
		out := r.workflowRun(action)
		out["node_id"], out["repository"], out["run_number"], out["workflow_id"] = node("WFR", r.ID), r.Repo.json(), 1, number(r.Name)
		out["actor"], out["triggering_actor"], out["run_started_at"] = user("octocat"), user("octocat"), stamp(r.At)
		return out
	case "check_run":
		out := r.checkRun(action)
		out["node_id"], out["started_at"], out["completed_at"] = node("CR", r.ID), stamp(r.At), nil
		out["details_url"] = out["html_url"]
		if r.done {
			out["completed_at"] = stamp(r.At)
		}
		return out
	case "check_suite":
		return r.checkSuite(action)
	}
	return r.status()
}

// runsOf returns the runs of a kind that listings show, newest first.
func (q *query) runsOf(kind string, is func(*run) bool) []any {
	rows := []any{}
	for _, r := range slices.Backward(q.repo.runs) {
		if r.kind == kind && !r.At.After(q.s.shown()) && is(r) {
			rows = append(rows, r.view())
		}
	}
	return rows
}

// tip returns the commit of a name, which may be a branch of a pull request.
func (q *query) tip() string {
	for _, t := range q.repo.threads {
		if t.PR && t.Fork == "" && t.Head == q.vars["name"] {
			return t.HeadSHA
		}
	}
	return q.vars["name"]
}

// checkRuns answers GET …/commits/{name}/check-runs: of each name the latest, unless all are asked for.
func checkRuns(q *query) answer {
	sha, values, seen := q.tip(), q.URL.Query(), map[string]bool{}
	return wrapped("check_runs", q.runsOf("check_run", func(r *run) bool {
		key := r.App + "/" + r.Name
		if r.SHA != sha || values.Get("check_name") != "" && values.Get("check_name") != r.Name || values.Get("filter") != "all" && seen[key] {
			return false
		}
		seen[key] = true
		return values.Get("status") == "" || (values.Get("status") == "completed") == r.done
	}))
}

// checkSuites answers GET …/commits/{name}/check-suites.
func checkSuites(q *query) answer {
	sha := q.tip()
	return wrapped("check_suites", q.runsOf("check_suite", func(r *run) bool { return r.SHA == sha }))
}

// statuses answers GET …/commits/{name}/statuses, each there ever was.
func statuses(q *query) answer {
	sha := q.tip()
	return list(q.statusRows(func(r *run) bool { return r.SHA == sha }))
}

// statusRows returns statuses without what only their webhooks have.
func (q *query) statusRows(is func(*run) bool) []any {
	rows := q.runsOf("status", is)
	for _, r := range rows {
		r := r.(map[string]any)
		r["creator"], r["url"] = r["sender"], q.repo.api("/statuses/"+r["sha"].(string))
		for _, name := range []string{"sha", "name", "branches", "commit", "repository", "sender"} {
			delete(r, name)
		}
	}
	return rows
}

// combined answers GET …/commits/{name}/status: of each context the latest, and what they come to.
func combined(q *query) answer {
	sha, seen, state := q.tip(), map[string]bool{}, "pending"
	rows := q.statusRows(func(r *run) bool {
		if r.SHA != sha || seen[r.Name] {
			return false
		}
		seen[r.Name] = true
		return true
	})
	for i, r := range rows {
		switch r.(map[string]any)["state"] {
		case "failure", "error":
			state = "failure"
		case "success":
			if i == 0 {
				state = "success"
			}
		case "pending":
			if state == "success" {
				state = "pending"
			}
		}
	}
	return ok(map[string]any{"state": state, "sha": sha, "total_count": len(rows), "statuses": rows, "repository": q.repo.view()})
}

// workflowRuns answers GET …/actions/runs.
func workflowRuns(q *query) answer {
	values := q.URL.Query()
	return wrapped("workflow_runs", q.runsOf("workflow_run", func(r *run) bool {
		sha, branch, status := values.Get("head_sha"), values.Get("branch"), values.Get("status")
		return (sha == "" || sha == r.SHA) && (branch == "" || branch == r.Branch) &&
			(status == "" || status == r.Conclusion || status == "completed" && r.done) && createdWithin(values.Get("created"), r)
	}))
}

// createdWithin reads what runs can be filtered by: ">=" and a time.
func createdWithin(expression string, r *run) bool {
	from, limited := strings.CutPrefix(expression, ">=")
	return !limited || from <= stamp(r.At)
}

// runOf answers GET for one run of a kind.
func runOf(kind string) func(*query) answer {
	return func(q *query) answer {
		for _, r := range q.repo.runs {
			if r.kind == kind && r.ID == q.num("id") {
				return ok(r.view())
			}
		}
		return missing()
	}
}

package githubtest

// route is a path of the REST API, what a token must be granted for it, and what answers.
type route struct {
	pattern string
	needs   string
	answer  func(*query) answer
}

const (
	readItems   = "issues=read; pull_requests=read"
	writeItems  = "issues=write; pull_requests=write"
	readPulls   = "pull_requests=read"
	writePulls  = "pull_requests=write"
	readHooks   = "repository_hooks=read"
	writeHooks  = "repository_hooks=write"
	readActions = "actions=read"
	readChecks  = "checks=read"
	readStatus  = "statuses=read"
	readRepo    = "metadata=read"
)

// general is the paths outside of repositories.
var general = []route{
	{"GET /user", "", self},
	{"GET /users/{name}", "", person},
	{"GET /rate_limit", "", rateLimit},
	{"GET /meta", "", meta},
	{"POST /graphql", "", graphql},
}

// below is the paths below a repository, whichever way it was named.
var below = []route{
	{"GET ", readRepo, repository},
	{"GET /branches/{name}", "contents=read; metadata=read", branch},
	{"GET /labels", readItems, labels},
	{"POST /labels", writeItems, makeLabel},
	{"GET /labels/{name}", readItems, labelOf},
	{"PATCH /labels/{name}", writeItems, editLabel},

	{"GET /issues", readItems, issues},
	{"POST /issues", "issues=write", openIssue},
	{"GET /issues/{n}", readItems, ofThread(issueOf)},
	{"PATCH /issues/{n}", writeItems, ofThread(editIssue)},
	{"PUT /issues/{n}/lock", writeItems, ofThread(lock)},
	{"DELETE /issues/{n}/lock", writeItems, ofThread(lock)},
	{"GET /issues/{n}/labels", readItems, ofThread(labelsOf)},
	{"POST /issues/{n}/labels", writeItems, ofThread(addLabels)},
	{"DELETE /issues/{n}/labels/{name}", writeItems, ofThread(removeLabel)},
	{"GET /issues/{n}/events", readItems, ofThread(eventsOf)},
	{"GET /issues/{n}/timeline", readItems, ofThread(timeline)},
	{"GET /issues/events", readItems, events},

	{"GET /issues/comments", readItems, comments},
	{"GET /issues/{n}/comments", readItems, ofThread(commentsOf)},
	{"POST /issues/{n}/comments", writeItems, ofThread(addComment)},
	{"GET /issues/comments/{id}", readItems, ofComment(commentOf)},
	{"PATCH /issues/comments/{id}", writeItems, ofComment(editComment)},
	{"DELETE /issues/comments/{id}", writeItems, ofComment(deleteComment)},

	{"GET /issues/{n}/reactions", readItems, ofThread(reactThread)},
	{"POST /issues/{n}/reactions", writeItems, ofThread(reactThread)},
	{"GET /issues/comments/{id}/reactions", readItems, ofComment(reactComment)},
	{"POST /issues/comments/{id}/reactions", writeItems, ofComment(reactComment)},
	{"DELETE /issues/comments/{id}/reactions/{n}", writeItems, ofComment(reactComment)},
	{"GET /pulls/comments/{id}/reactions", readPulls, ofComment(reactComment)},
	{"POST /pulls/comments/{id}/reactions", writePulls, ofComment(reactComment)},
	{"DELETE /pulls/comments/{id}/reactions/{n}", writePulls, ofComment(reactComment)},

	{"GET /pulls", readPulls, pulls},
	{"GET /pulls/{n}", readPulls, ofPull(pull)},
	{"PATCH /pulls/{n}", writePulls, ofPull(editIssue)},
	{"PUT /pulls/{n}/merge", "contents=write", ofPull(mergePull)},
	{"GET /pulls/{n}/comments", readPulls, ofPull(inlineOf)},
	{"POST /pulls/{n}/comments/{id}/replies", writePulls, ofPull(addReply)},
	{"GET /pulls/{n}/reviews", readPulls, ofPull(reviewsOf)},
	{"POST /pulls/{n}/reviews", writePulls, ofPull(addReview)},
	{"GET /pulls/{n}/reviews/{id}", readPulls, ofReview(reviewOf)},
	{"GET /pulls/{n}/reviews/{id}/comments", readPulls, ofReview(reviewComments)},
	{"GET /pulls/comments", readPulls, inlineComments},
	{"GET /pulls/comments/{id}", readPulls, ofComment(commentOf)},
	{"PATCH /pulls/comments/{id}", writePulls, ofComment(editComment)},
	{"DELETE /pulls/comments/{id}", writePulls, ofComment(deleteComment)},

	{"GET /commits/{name}/pulls", readPulls, pullsOf},
	{"GET /commits/{name}/check-runs", readChecks, checkRuns},
	{"GET /commits/{name}/check-suites", readChecks, checkSuites},
	{"GET /commits/{name}/status", readStatus, combined},
	{"GET /commits/{name}/statuses", readStatus, statuses},
	{"GET /check-runs/{id}", readChecks, runOf("check_run")},
	{"GET /check-suites/{id}", readChecks, runOf("check_suite")},
	{"GET /actions/runs", readActions, workflowRuns},
	{"GET /actions/runs/{id}", readActions, runOf("workflow_run")},

	{"GET /hooks", readHooks, hooks},
	{"GET /hooks/{id}", readHooks, hookOf},
	{"GET /hooks/{id}/deliveries", readHooks, deliveries},
	{"GET /hooks/{id}/deliveries/{n}", readHooks, delivery},
	{"POST /hooks/{id}/deliveries/{n}/attempts", writeHooks, redeliver},
}

// meta answers GET /meta.
func meta(*query) answer {
	return ok(map[string]any{"verifiable_password_authentication": false, "hooks": []any{"127.0.0.0/8"}})
}

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// warnings names what is valid and probably not meant, with what it costs.
func warnings(cfg Config) []Warning {
	var ws []Warning
	warn := func(when bool, key, msg string) {
		if when {
			ws = append(ws, Warning{key, msg})
		}
	}
	for _, event := range []string{"issues", "pull_request"} {
		missing := len(cfg.Webhook.Events) > 0 && !slices.Contains(cfg.Webhook.Events, event)
		warn(missing, "webhook.events", "the list lacks "+event+": closures are never seen, and their sessions leak")
	}
	warn(cfg.Webhook.AllowUnsigned, "webhook.allow_unsigned",
		"deliveries need no signature: every program on this machine can steer your agents")
	warn(!cfg.Webhook.Enabled && !cfg.Polling.Enabled, "webhook.enabled",
		"with neither webhook nor polling nothing reaches Loop from GitHub")
	warn(len(cfg.Routing.AuthorizedUsers) == 0, "routing.authorized_users",
		"nobody may steer an agent; everything a person did is dropped")
	warn(cfg.Routing.SpawnOnUnmatched != "never" && cfg.Workspace.Strategy == "none" && cfg.Routing.SpawnWorkdir == "",
		"routing.spawn_workdir", "empty, and there is no workspace: a spawn has no folder to work in and fails")
	for _, kind := range loop.Kinds() {
		for _, word := range cfg.Routing.Deliver[string(kind)] {
			warn(!slices.Contains(sent(kind), word), "routing.deliver."+string(kind),
				fmt.Sprintf("%q is nothing that GitHub is known to send%s", word, didYouMean(word, sent(kind))))
		}
	}
	for _, path := range paths(cfg) {
		warn(strings.Contains(path.value, "$"), path.key(), "$ stands for itself: variables are not expanded here")
	}
	return ws
}

// paths are the keys that name a file or a folder, as far as they are set.
func paths(cfg Config) []leaf {
	return slices.DeleteFunc(leaves(cfg), func(l leaf) bool { return !l.rule.has("path") })
}

// sent are the actions that GitHub sends with a kind of event, or the conclusions where the kind is CI. There may be new
// ones any day, so another word is doubtful, not wrong.
func sent(kind loop.Kind) []string {
	var words string
	switch kind {
	case loop.KindIssues:
		words = "opened edited deleted transferred pinned unpinned closed reopened assigned unassigned labeled unlabeled locked " +
			"unlocked milestoned demilestoned typed untyped"
	case loop.KindIssueComment, loop.KindPullRequestComment:
		words = "created edited deleted"
	case loop.KindPullRequest:
		words = "opened edited closed reopened assigned unassigned labeled unlabeled locked unlocked milestoned demilestoned " +
			"converted_to_draft ready_for_review review_requested review_request_removed synchronize " +
			"auto_merge_enabled auto_merge_disabled enqueued dequeued"
	case loop.KindPullRequestReview:
		words = "submitted edited dismissed"
	case loop.KindWorkflowRun, loop.KindCheckRun, loop.KindCheckSuite:
		words = "success failure neutral cancelled skipped timed_out action_required stale startup_failure"
	case loop.KindStatus:
		words = "success failure error pending"
	}
	return strings.Fields(words)
}

package config

import (
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Default is the configuration of an empty file. Every call builds a new one.
func Default() Config {
	return Config{
		Daemon: Daemon{LogLevel: "info", LogFormat: "text"},
		Webhook: Webhook{
			Enabled:      true,
			Listen:       "127.0.0.1:8787",
			SecretEnv:    "LOOP_GH_WEBHOOK_SECRET",
			MaxBodyBytes: 25 << 20, // what GitHub sends at most
		},
		Routing: defaultRouting(),
		Workspace: Workspace{
			Strategy:      "none",
			CloneProtocol: "https",
		},
		Harness: map[string]Harness{
			"claude": {Command: "claude", Trust: true},
			"cursor": {Command: "cursor-agent", Trust: true},
			"codex":  {Command: "codex", Trust: true},
		},
		Hooks:   Hooks{DeliverLive: true},
		Notify:  Notify{On: []string{"session.waiting", "session.paused", "run.failed", "run.held"}},
		Polling: Polling{Interval: time.Minute},
		Keep:    Keep{Days: 35, BodyDays: 7, TranscriptDays: 90, DeadPanes: 20, ClosedDays: 90},
	}
}

func defaultRouting() Routing {
	return Routing{
		Enabled:                 true,
		AutoExecuteLabel:        "the-loop: auto-execute",
		SpawnOnUnmatched:        "never",
		DefaultHarness:          "claude",
		Runner:                  "tmux",
		MaxConcurrentDispatches: 4,
		MaxLiveSessions:         8,
		MaxRunsPerHour:          20,
		Join:                    2 * time.Second,
		DispatchTimeout:         30 * time.Minute,
		MaxAttempts:             3,
		CloseLinked:             "trusted",
		CloseSettle:             30 * time.Second,
		Deliver: map[string][]string{
			"issues":                      {"reopened"},
			"issue_comment":               {"created"},
			"pull_request":                {"reopened", "ready_for_review"},
			"pull_request_review":         {"submitted"},
			"pull_request_review_comment": {"created"},
			"workflow_run":                {"failure", "timed_out", "startup_failure"},
			"check_run":                   {"failure", "timed_out", "startup_failure"},
			"check_suite":                 {},
			"status":                      {"failure", "error"},
		},
		Tmux: Tmux{
			KeepSessionOnClose: true,
			RemainOnExit:       true,
			KillHarnessOnClose: true,
			HarnessKillGrace:   5 * time.Second,
		},
		Control:   Control{Enabled: true, Prefix: "/loop"},
		Reactions: Reactions{Enabled: true, Started: "eyes", Completed: "hooray", Error: "confused"},
		Announce:  Announce{Enabled: true},
	}
}

// eventTypes are the types of events that Loop reads, as the file spells them.
func eventTypes() []string {
	var types []string
	for _, kind := range loop.Kinds() {
		types = append(types, string(kind))
	}
	return types
}

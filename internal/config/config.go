// Package config turns loop.toml into a [Config]: where the file is, what its keys mean, what they are when it is silent,
// and what happens when it changes under a running daemon.
//
// It promises:
//
//   - Strictness. An unknown key, a wrong type or an impossible value is an [Error] that names file, line and key. All
//     problems of a file are reported at once, in the order of the file, and nothing of a file with a problem is used.
//   - Finality. A Config that was returned has been checked as a whole; its paths are absolute. It is never changed
//     afterwards: whoever holds one may share it, and must not write to its maps and lists.
//   - No hidden inputs. The environment and the home folder are passed in. Nothing here reads the process's own.
//   - Discretion. Secrets are read by [Secrets] alone and appear in no error, and not in what [Render] shows of a Config
//     that went through [Config.Redacted].
package config

import (
	"log/slog"
	"time"
)

// Config is one whole configuration. Its zero value is of no use: begin with [Default], [Decode] or [Load].
//
// The tag toml names the key. The tag rule says more of a value: "path" is resolved against the file's folder, "program"
// likewise when it has a slash, "home" expands a leading ~/ and no more; "restart" marks a key whose new value waits for a
// restart of the daemon.
type Config struct {
	Daemon    Daemon             `toml:"daemon"`
	Webhook   Webhook            `toml:"webhook"`
	Routing   Routing            `toml:"routing"`
	Workspace Workspace          `toml:"workspace"`
	Harness   map[string]Harness `toml:"harness"` // by the harness's name
	Hooks     Hooks              `toml:"hooks"`
	Notify    Notify             `toml:"notify"`
	Polling   Polling            `toml:"polling"`
	GitHub    GitHub             `toml:"github"`
	Keep      Keep               `toml:"keep"`
}

// Daemon says where loopd lives and how it logs.
type Daemon struct {
	Socket    string `toml:"socket" rule:"path restart"`    // "" is the default that Sockets names
	StateDir  string `toml:"state_dir" rule:"path restart"` // "" is the default that Folders names
	LogLevel  string `toml:"log_level"`                     // debug, info, warn, error
	LogFormat string `toml:"log_format"`                    // text, json
}

// Level is LogLevel for a handler of log/slog.
func (d Daemon) Level() slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(d.LogLevel)) // a checked configuration holds one of its four names
	return l
}

// Webhook is the door for GitHub's deliveries.
type Webhook struct {
	Enabled       bool     `toml:"enabled" rule:"restart"`
	Listen        string   `toml:"listen" rule:"restart"` // host:port; port 0 takes a free one
	SecretEnv     string   `toml:"secret_env"`            // the name of an environment variable, never a secret
	SecretFile    string   `toml:"secret_file" rule:"path"`
	AllowUnsigned bool     `toml:"allow_unsigned"` // only ever true beside a loopback Listen
	Events        []string `toml:"events"`         // empty is all of loop.Kinds
	MaxBodyBytes  int      `toml:"max_body_bytes"`
}

// Routing decides what an event means and who may ask for it.
type Routing struct {
	Enabled                 bool          `toml:"enabled"`
	AuthorizedUsers         []string      `toml:"authorized_users"` // logins, distinct whatever their case; empty is nobody
	AutoExecuteLabel        string        `toml:"auto_execute_label"`
	SpawnOnUnmatched        string        `toml:"spawn_on_unmatched"` // never, labeled, always
	DefaultHarness          string        `toml:"default_harness"`
	Runner                  string        `toml:"runner"` // headless, tmux
	SpawnWorkdir            string        `toml:"spawn_workdir" rule:"path"`
	RegistryDir             string        `toml:"registry_dir" rule:"path restart"` // "" is the default that Folders names
	MaxConcurrentDispatches int           `toml:"max_concurrent_dispatches"`
	MaxLiveSessions         int           `toml:"max_live_sessions"`
	MaxRunsPerHour          int           `toml:"max_runs_per_hour"`
	Join                    time.Duration `toml:"join_seconds"`
	DispatchTimeout         time.Duration `toml:"dispatch_timeout_seconds"`
	MaxAttempts             int           `toml:"max_attempts"`
	CloseLinked             string        `toml:"close_linked"` // trusted, merged, never
	CloseSettle             time.Duration `toml:"close_settle_seconds"`
	PromptTemplate          string        `toml:"prompt_template" rule:"path"`
	SpawnPromptTemplate     string        `toml:"spawn_prompt_template" rule:"path"`

	// Deliver says for each event type which actions, or conclusions of CI, reach an agent. It has a row for each of
	// loop.Kinds; a row that a file names replaces the default row and leaves the others.
	Deliver   map[string][]string `toml:"deliver"`
	Tmux      Tmux                `toml:"tmux"`
	Control   Control             `toml:"control"`
	Reactions Reactions           `toml:"reactions"`
	Announce  Announce            `toml:"announce"`
}

// Tmux says what becomes of a session's terminal.
type Tmux struct {
	KeepSessionOnClose bool          `toml:"keep_session_on_close"`
	RemainOnExit       bool          `toml:"remain_on_exit"`
	KillHarnessOnClose bool          `toml:"kill_harness_on_close"`
	HarnessKillGrace   time.Duration `toml:"harness_kill_grace_seconds"` // 0 escalates at once
	Socket             string        `toml:"socket" rule:"path restart"` // "" is the default that Folders names
}

// Control is about commands in comments.
type Control struct {
	Enabled bool   `toml:"enabled"`
	Prefix  string `toml:"prefix"`
}

// Reactions are what Loop puts on the comment that caused a run; "" puts none.
type Reactions struct {
	Enabled   bool   `toml:"enabled"`
	Started   string `toml:"started"`
	Completed string `toml:"completed"`
	Error     string `toml:"error"`
}

// Announce is the comment that tells of a first spawn.
type Announce struct {
	Enabled bool `toml:"enabled"`
}

// Workspace is about the checkout that a spawned session works in.
type Workspace struct {
	Strategy            string   `toml:"strategy"`         // none, worktree
	Root                string   `toml:"root" rule:"path"` // "" is the default that Folders names
	CloneProtocol       string   `toml:"clone_protocol"`   // https, ssh
	KeepCheckoutOnClose bool     `toml:"keep_checkout_on_close"`
	AllowForks          bool     `toml:"allow_forks"`
	Setup               []string `toml:"setup" rule:"home"` // an argv, run in the new checkout
	Copy                []string `toml:"copy"`
}

// Harness is one coding agent's command line. Start and the fields after it declare one that Loop does not know by itself.
type Harness struct {
	Command string            `toml:"command" rule:"program"`
	Args    []string          `toml:"args"`
	Env     map[string]string `toml:"env"` // may hold secrets: shown by Redacted as names alone
	Trust   bool              `toml:"trust"`

	Start  []string `toml:"start,omitempty" rule:"program"`  // with {id}, {cwd} and {prompt} where they belong
	Resume []string `toml:"resume,omitempty" rule:"program"` // the same
	Prompt string   `toml:"prompt,omitempty"`                // stdin, arg
	Output string   `toml:"output,omitempty"`                // json, jsonl, text
	ID     string   `toml:"id,omitempty"`                    // names with dots between them
	OK     string   `toml:"ok,omitempty"`                    // the same, and =VALUE
}

// Declared reports whether the harness is one that this configuration declares.
func (h Harness) Declared() bool {
	return h.Start != nil || h.Resume != nil || h.Prompt+h.Output+h.ID+h.OK != ""
}

// Hooks is about what loopd does through the hooks of live conversations.
type Hooks struct {
	DeliverLive bool `toml:"deliver_live"`
}

// Notify calls a program of the operator's when a person is needed.
type Notify struct {
	Command []string `toml:"command" rule:"program"`
	On      []string `toml:"on"` // types of the event log
}

// Polling asks GitHub where no webhook reaches.
type Polling struct {
	Enabled  bool          `toml:"enabled"`
	Interval time.Duration `toml:"interval_seconds"`
	Sources  []Source      `toml:"sources"`
}

// Source is a set of repositories to poll.
type Source struct {
	Provider     string   `toml:"provider"`
	Repos        []string `toml:"repos"`
	Label        string   `toml:"label"` // "" is Routing.AutoExecuteLabel
	Issues       bool     `toml:"issues"`
	PullRequests bool     `toml:"pull_requests"`
}

// GitHub is how Loop reaches GitHub's API.
type GitHub struct {
	APIURL   string `toml:"api_url"`   // "" is found from the host of each work item
	TokenEnv string `toml:"token_env"` // "" is GITHUB_TOKEN, then GH_TOKEN, then what `gh auth token` says
}

// Keep says how long what is finished stays, in days; DeadPanes is a number of them.
type Keep struct {
	Days           int `toml:"days"` // keys of deliveries: longer than GitHub redelivers
	BodyDays       int `toml:"body_days"`
	TranscriptDays int `toml:"transcript_days"`
	DeadPanes      int `toml:"dead_panes"`
	ClosedDays     int `toml:"closed_days"`
}

package loop

import "time"

// LogType is the name of an entry in the event log. Names are stable.
type LogType string

// The entries of the event log.
const (
	LogDeliveryReceived  LogType = "delivery.received"
	LogDeliveryDropped   LogType = "delivery.dropped"
	LogRunStarted        LogType = "run.started"
	LogRunDone           LogType = "run.done"
	LogRunFailed         LogType = "run.failed"
	LogRunHeld           LogType = "run.held"
	LogSessionRegistered LogType = "session.registered"
	LogSessionSpawned    LogType = "session.spawned"
	LogSpawnFailed       LogType = "session.spawn_failed"
	LogResumeFailed      LogType = "session.resume_failed"
	LogSessionPaused     LogType = "session.paused"
	LogSessionResumed    LogType = "session.resumed"
	LogSessionClosed     LogType = "session.closed"
	LogSessionAutoclosed LogType = "session.autoclosed"
	LogSessionRetained   LogType = "session.retained"
	LogSessionRespawned  LogType = "session.respawned"
	LogSessionWaiting    LogType = "session.waiting"
	LogHarnessTerminated LogType = "session.harness_terminated"
	LogSessionAnnounced  LogType = "session.announced"
	LogAnnounceFailed    LogType = "session.announce_failed"
	LogOutboxPosted      LogType = "outbox.posted"
	LogOutboxFailed      LogType = "outbox.failed"
	LogWorkspaceTrusted  LogType = "workspace.trusted"
	LogTrustFailed       LogType = "workspace.trust_failed"
	LogPollCycle         LogType = "poll.cycle"
	LogPollItemError     LogType = "poll.item_error"
	LogPollProviderError LogType = "poll.provider_error"
	LogPollClosure       LogType = "poll.closure_detected"
	LogPollGaveUp        LogType = "poll.gave_up"
	LogConfigReloaded    LogType = "config.reloaded"
	LogConfigRejected    LogType = "config.rejected"
	LogConfigWarning     LogType = "config.warning"
	LogControlCommand    LogType = "control.command"
	LogControlRejected   LogType = "control.rejected"
	LogControlAmbiguous  LogType = "control.ambiguous"
	LogNotifyFailed      LogType = "notify.failed"
)

// LogEvent is one entry of the event log: a fact that people and programs rely on.
type LogEvent struct {
	Seq      int64 // order in the log, given when it is written
	At       time.Time
	Type     LogType
	Item     WorkItem          // zero where it concerns none
	Delivery DeliveryID        // "" where it concerns none
	Run      RunID             // "" where it concerns none
	Message  string            // one line for a person
	Fields   map[string]string // stable names: reason, merged, killed, attempt, cost_usd, denials, …
}

package api

import "github.com/loop-daemon/loop/internal/loop"

// meaning is a reason in a person's words, and what that person can do about it; next is empty where nothing is to be done.
type meaning struct{ why, next string }

const byForce = "to have it run all the same: loopctl deliveries redeliver --force {id}"

// meanings has a row for each reason that a delivery can be dropped, waiting or failed for.
var meanings = map[string]meaning{
	loop.DropRoutingOff:    {"routing is switched off: deliveries are stored and nothing more", "set routing.enabled = true"},
	loop.DropEventOff:      {"events of this type are not enabled", "add the type to webhook.events"},
	loop.DropDuplicate:     {"this was handled already, under another delivery", ""},
	loop.DropNoItem:        {"it concerns no issue and no pull request that Loop knows of", ""},
	loop.DropUndecodable:   {"its body could not be understood", "look at the body: loopctl deliveries show {id} --body"},
	loop.DropPing:          {"it is GitHub's test of the webhook, which has arrived; nothing is to be done", ""},
	loop.DropSelfAuthored:  {"Loop wrote it itself, and would only be talking to itself", ""},
	loop.DropOwnAction:     {"Loop did it itself", ""},
	loop.DropUnauthorized:  {"the person who did it may not steer an agent", "add the login to routing.authorized_users if they may; later events then count"},
	loop.DropUntrustedCI:   {"no authorized person has acted on the pull request that this check is of", "comment on the pull request, or let its session declare it"},
	loop.DropStaleSHA:      {"the check is of a commit that is no longer the newest of its pull request", ""},
	loop.DropEdited:        {"an edited or deleted comment is no new instruction", "write a new comment"},
	loop.DropAmbiguous:     {"the comment holds two different commands, so neither was carried out", "write a comment with one of them"},
	loop.DropControlOff:    {"commands in comments are switched off", "set routing.control.enabled = true"},
	loop.DropSuperseded:    {"a command that was given later has been carried out already", "write a new comment with it if it is still wanted"},
	loop.DropNotDelivered:  {"events of this kind and action do not reach an agent", "see routing.deliver in loop.toml to change that"},
	loop.DropSessionPaused: {"the session is paused", "loopctl sessions resume --work-item {ref} lets later events through; " + byForce},
	loop.DropUnmatched:     {"no session works on it, and none is started for events without one", "register a session, or set routing.spawn_on_unmatched"},
	loop.DropNotLabeled:    {"no session works on it, and it does not have the label that starts one", "put the label routing.auto_execute_label on it"},
	loop.DropSpawnedBefore: {"a session was started for this label before", "take the label off and put it on again to start another"},
	loop.DropStopped:       {"work on it was stopped by command", "loopctl sessions start {ref} lifts that"},
	loop.DropClaimed:       {"another Loop has announced on the ticket that it works on it", "loopctl sessions start {ref} starts a session here all the same"},
	loop.DropItemClosed:    {"its work item was closed before its turn came", ""},
	loop.DropStaleClose:    {"the item was reopened since, or the session began after it was closed", ""},
	loop.DropNoSession:     {"there is no session that it could act on", ""},
	loop.DropEditedByOther: {"somebody else than its author has edited it", ""},
	loop.DropUnproven:      {"the item that it seems to concern, by the name of a branch, does not exist", ""},
	loop.DropUntrustedLink: {"a pull request that was closed without a merge names the item, but its branch is a stranger's: that ends nothing", "loopctl sessions close --work-item {ref} ends the session all the same"},
	loop.DropOtherPull:     {"another pull request for the item is open, so its session goes on", ""},
	loop.DropLinkedOff:     {"the configuration does not let this pull request end the sessions of the issues that it is linked to", "see routing.close_linked"},
	loop.DropSessionGone:   {"the session that it was queued for was closed or replaced", byForce},

	loop.WaitBackoff: {"a try did not succeed, and the next one has its time", "to try now: loopctl deliveries redeliver {id}"},
	loop.WaitHarness: {"its harness as a whole cannot work now; it waits uncounted until that is over", "loopctl status says what the harness is waiting for"},
	loop.WaitRun:     {"a run from before loopd was restarted is still alive; its answer will count", ""},

	loop.WaitEnding: {"what it ends could not be ended yet; that is tried again until it is", "mend what the last error says; the close then goes on by itself"},

	loop.WaitBusy:        {"the conversation is live in a terminal and a turn runs there; what gathers is handed over when that ends", ""},
	loop.WaitDialog:      {"the agent asks a person for something in its terminal, and nothing is typed into that", "to see and answer it: loopctl attach {ref} --write"},
	loop.WaitDraft:       {"somebody is writing in the agent's terminal, and nothing is typed beside that", "send the text that stands there, or take it back"},
	loop.WaitStarting:    {"the agent's terminal does not take text yet", ""},
	loop.WaitUnconfirmed: {"the agent's terminal did not show what it was given, so that it was not sent", "to look: loopctl attach {ref}"},
	loop.WaitTerminal:    {"tmux does not say how the agent's terminal is, so nothing is done there", "loopctl status says more"},
	loop.WaitOccupied:    {"something else than the session's conversation is live in its terminal, and gets nothing of it", "to leave that: loopctl attach {ref} --write; loopctl events says more"},
	loop.WaitElsewhere:   {"the conversation is open in a terminal that Loop does not own, and no hook of it waits for events", "end it there, and it goes on here; events come into that terminal with loopctl hooks install and hooks.deliver_live = true: after Escape only when the next turn has ended"},
	loop.WaitAnswer:      {"the agent has asked something on the ticket, and nobody has answered yet", "answer there, or with loopctl send {ref}"},
	loop.WaitRoom:        {"as many agents are live as routing.max_live_sessions lets be, and none of them is idle", "close one, or raise the number"},

	loop.FailTimeout:  {"the harness was given all its time and did not finish", "raise routing.dispatch_timeout_seconds if it needs more, then loopctl deliveries redeliver {id}"},
	loop.FailAttempts: {"every try failed", "mend what the last error says, then loopctl deliveries redeliver {id}"},
	loop.FailClose:    {"the session could not be closed", "mend what the error says, then loopctl deliveries redeliver {id}"},
}

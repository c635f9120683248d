// Package internal is the map of Loop. An event takes this way:
//
//	webhook | poll → inbox → (decode) route → dispatch → (prompt) → runner → harness
//
// One door in: every delivery is on disk in the inbox before anybody is told that it was accepted. One closing path. One
// writer of state: loopd. Replay after a crash is the normal start: dispatch begins with what the inbox still owes.
//
// The words
//
//	loop         work item, session, event, delivery, decision, run; error classes         pure
//
// The way of an event
//
//	webhook      the door for GitHub: body cap, signature, put, 202
//	poll         asks GitHub what happened, and puts it into the inbox as the webhook would
//	inbox        every delivery, on disk before it is answered, and what became of it
//	route        what an event means and who may ask for it: deliver, spawn, close, drop    pure
//	dispatch     makes it so: one queue per session, a cap over all, retries
//	prompt       an event as text for an agent, untrusted parts fenced                      pure
//	harness      the agents: their command lines, answers and environment
//	runner       how an agent is hosted: a headless process per event, or a pane of tmux
//
// What is remembered
//
//	session      the registry: which session works on which item
//	item         what Loop knows of a work item beside its session: links, head SHAs, stopped
//	outbox       what Loop owes GitHub: reactions and comments, each posted at most once
//	eventlog     what happened, for people and programs: query and watch
//
// The outside world
//
//	github       payloads and signature of GitHub's webhooks; a client of its API, with ETags and limits
//	notify       calls a program of the operator's when a person is needed
//	tmux         one private tmux server: sessions, panes, pastes, transcripts
//
// What people touch
//
//	api          the socket's gRPC services; who may call; errors → status
//	cli          loopctl's commands, one file per noun; tables, JSON, exit codes
//	config       loop.toml → Config: defaults, strict decode, validation, reload
//	app          Main: flags, logger, signals; New and Run: build all of it, run, reload, stop
//
// What shows it
//
//	demo         tells a person what loopd does with deliveries, and checks it: make demo
//	bench        measures what that costs, beside a yardstick: make bench
//
// What knows nothing of Loop
//
//	sys/journal     SQLite: open, migrate, one writer, shared commits
//	sys/proc        child processes and whole process trees
//	sys/unixsock    listen and dial a Unix socket, peer credentials
//	sys/atomicfile  files that are whole or not there
//	sys/filewatch   tells when a file may have changed
//	sys/build       says what the program was built from
//
// What harnesses call loopctl by, and how that gets into their settings, is in hooks, at the root.
// Whole-program tests are in e2e. imports_test.go says who may import whom.
package internal

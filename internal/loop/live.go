package loop

import (
	"regexp"
	"time"
)

// HookEvent is what a hook of a harness tells about a conversation that is live somewhere.
type HookEvent string

// What hooks tell. Each harness has names of its own for these.
const (
	HookStart   HookEvent = "start"   // the conversation is live: begun, resumed, or cleared and so another one
	HookPrompt  HookEvent = "prompt"  // a prompt was accepted; while a turn runs, that is when it was queued
	HookStop    HookEvent = "stop"    // the turn ended
	HookFailure HookEvent = "failure" // the turn ended with an error of the API
	HookWaiting HookEvent = "waiting" // it waits for a person: a permission, a question
	HookEnd     HookEvent = "end"     // the program leaves the conversation
)

// Report is what one call of a hook told. It never carries what a prompt said, only the runs that are named in it.
type Report struct {
	Event     HookEvent
	Item      WorkItem  // from LOOP_WORK_ITEM, else from the branch that it works on; zero where neither names one
	Harness   string    // the name that sessions call it by
	SessionID SessionID // as the harness told it
	Launch    string    // LOOP_LAUNCH: which start of a pane of ours; "" elsewhere
	Run       RunID     // of LOOP_RUN: a headless run of ours; "" elsewhere
	PID       int       // of the harness's process; 0 unknown
	Caller    int       // of the process that called loopd, by the kernel's word; 0 unknown
	Started   uint64    // when that process started, in the kernel's own unit; 0 unknown
	Where     string    // the terminal that it is in, one line for people; "" unknown
	Source    string    // of a start: startup, resume, clear, compact, fork; of an end: why; of a wait: which notice of it, "" is the question itself
	Detail    string    // of a wait: what for, one line
	Runs      []RunID   // of a prompt: the runs whose token stands in it, in order
	Cwd       string
	At        time.Time

	CloseOnEnd bool // the hook was installed to close the session when the conversation ends
}

// When says when what is reported was: now, where nobody said.
func (r Report) When() time.Time {
	if r.At.IsZero() {
		return time.Now()
	}
	return r.At
}

// Turn says what a live conversation is doing.
type Turn string

// What a live conversation can be doing.
const (
	TurnUnknown Turn = ""        // nobody told yet
	TurnIdle    Turn = "idle"    // its prompt is free
	TurnBusy    Turn = "busy"    // a turn runs
	TurnWaiting Turn = "waiting" // for a person's decision
)

// Process names one process for good, also after a restart: a pid alone goes to another process in the end.
type Process struct {
	PID   int
	Start uint64 // when it started, in the kernel's own unit
	Boot  string // which boot of the machine; "" where nobody but the process itself has told that it is this one
}

// Proven reports whether it is known beyond a claim which process it is.
func (p Process) Proven() bool { return p.PID > 1 && p.Boot != "" }

// Presence says where a conversation is live and what it does there, as its hooks told.
type Presence struct {
	Harness   string
	SessionID SessionID
	Launch    string  // of a pane of ours; "" a person's own terminal
	Process   Process // of the harness
	Turn      Turn
	Since     time.Time // of Turn
	Detail    string    // what TurnWaiting waits for
	Where     string    // the terminal, one line for people, such as "tmux" or "pts/3"; "" unknown
	Waker     bool      // a wake hook waits for an event now
}

// Reach says how a person comes to the conversation of an item: through Loop where its terminal is Loop's, which is also taken of
// one that no hook has told of, else in their own.
func (p Presence) Reach(w WorkItem) string {
	switch {
	case p.Launch != "" || p.Process.PID == 0:
		return "in its terminal (loopctl attach " + w.Ref() + " --write)"
	case p.Where != "":
		return "in your terminal (" + p.Where + ")"
	}
	return "in your terminal"
}

// Token is the mark by which a prompt of ours is known again: in a terminal, in what a hook reports, in a transcript. It stands
// in the first line of a prompt that is handed to a live conversation.
func (id RunID) Token() string { return "[loop " + string(id) + "]" }

var tokenPattern = regexp.MustCompile(`\[loop ([0-9]{8}-[0-9]{6}-[0-9]{3}-[a-z0-9]{6})\]`)

// FindTokens returns the runs whose tokens stand in a text, in order, each once.
func FindTokens(text string) []RunID {
	var ids []RunID
	seen := map[RunID]bool{}
	for _, m := range tokenPattern.FindAllStringSubmatch(text, -1) {
		if id := RunID(m[1]); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// Wake is what a conversation that waits for it is woken with.
type Wake struct {
	Run   RunID
	Title string // one line of ours for people
	Text  string // whole, safe text; the run's token is in its first line
}

// HookAnswer is what a hook is to say in the conversation that called it. The zero HookAnswer is nothing, as most are.
type HookAnswer struct {
	Note    string // one line for the person
	Context string // what the agent should know
}

package agenttest

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// turn is what the model is thinking about.
type turn struct {
	text string
	do   Directives
	tool *proc.Child
	goes bool // on because a Stop hook wanted it to
}

// take begins a turn with some prompts.
func (t *tui) take(prompts []prompt, goes bool) {
	turn := &turn{goes: goes}
	t.turn = turn
	t.hear(prompts, "new")
	if turn.do.Has("crash") {
		t.exit(turn.do.Number("crash", 1), "other")
		return
	}
	if turn.do.Has("brood") {
		t.check(brood())
	}
	if turn.do.Has("tool") {
		t.startTool()
	}
	if !turn.do.Has("hang") {
		t.after(time.Duration(turn.do.Number("delay", 0))*time.Millisecond, func() { t.thought(turn) })
	}
}

// hear gives the model prompts, at the beginning of a turn or within it.
func (t *tui) hear(prompts []prompt, how string) {
	var texts []string
	for _, p := range prompts {
		t.screen.show(p.shown)
		t.check(t.log.said(p.text, p.how))
		n, err := t.kept.add(t.id, p.text)
		t.check(err)
		t.turns = max(t.turns+1, n)
		texts = append(texts, p.text)
	}
	t.turn.text = strings.Join(texts, "\n")
	t.turn.do = FindDirectives(t.turn.text)
	t.turn.do.read(os.Getenv(EnvDo))
	t.did(ActTurn, t.turn.text, how)
}

// thought is when the model has an answer, or a wish.
func (t *tui) thought(turn *turn) {
	if t.turn != turn {
		return
	}
	if tool, asks := turn.do["ask"]; asks {
		delete(turn.do, "ask")
		t.askPermission(tool, func() { t.thought(turn) })
		return
	}
	if queued := t.queue; turn.tool != nil && len(queued) > 0 {
		t.queue = nil
		turn.end()
		t.hear(queued, "folded")
	}
	turn.end()
	switch do := turn.do; {
	case do.Has("status"):
		t.failed(turn, fmt.Sprintf("API Error: %d (fake)", do.Number("status", 500)))
	case do.Has("limit"):
		t.failed(turn, "You've hit your limit · resets "+strings.ReplaceAll(do["limit"], "_", " "))
	default:
		t.answered(turn, fmt.Sprintf("Fake answer to turn %d: %s", t.turns, clip(turn.text, 80)))
	}
}

func (t *tui) failed(turn *turn, text string) {
	t.screen.show("● " + text)
	t.did(ActAnswer, text, "failed")
	t.fire("StopFailure", "", map[string]any{"error": "unknown", "last_assistant_message": text}, func([]told) { t.stopped(turn, "") })
}

func (t *tui) answered(turn *turn, text string) {
	t.screen.show("● " + text)
	t.screen.show("✻ Worked for 1s · done " + time.Now().Format("3:04 PM"))
	t.check(t.log.answered(text))
	t.did(ActAnswer, text, "done")
	t.fire("Stop", "", map[string]any{"stop_hook_active": turn.goes, "last_assistant_message": text, "permission_mode": t.mode}, func(said []told) {
		t.stopped(turn, objection(said))
	})
}

// stopped is when the hooks know of the turn's end. With a reason the model is to go on.
func (t *tui) stopped(turn *turn, reason string) {
	if t.turn != turn {
		return
	}
	t.turn = nil
	switch {
	case turn.do.Has("exit"):
		t.exit(turn.do.Number("exit", 0), "other")
	case reason != "":
		t.did(ActPrompt, reason, "continued")
		t.take([]prompt{{"● Stop hook feedback", reason, "continued"}}, true)
	default:
		t.advance()
	}
}

// interrupt ends the turn without an answer, of which no hook is told.
func (t *tui) interrupt() {
	if t.turn == nil {
		return
	}
	t.turn.end()
	t.turn = nil
	t.screen.show("  ⎿  Interrupted · What should Claude do instead?")
	t.check(t.log.said("[Request interrupted by user]", ""))
	t.did(ActAnswer, "", "interrupted")
	t.advance()
}

// startTool starts a tool that works for as long as the turn.
func (t *tui) startTool() {
	tool, err := proc.Start(proc.Program{Path: "sleep", Args: []string{"600"}})
	t.turn.tool = tool
	t.check(err)
}

// end ends the turn's tool.
func (t *turn) end() {
	if t.tool == nil {
		return
	}
	_, _ = proc.Tree{Root: t.tool.ID(), Group: t.tool.ID().PID}.Kill()
	t.tool.Reap()
	t.tool = nil
}

// start lets hooks know that a conversation begins, which can from now on be typed into.
func (t *tui) start(source string) {
	t.open = true
	t.screen.ready()
	t.did(ActReady, source, "")
	t.fire("SessionStart", source, map[string]any{"source": source, "model": "claude-opus-5-5"}, func([]told) { t.advance() })
}

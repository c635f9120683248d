package agenttest

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// typed takes what the terminal sends.
func (t *tui) typed(piece []byte) {
	t.fed++
	for _, k := range t.keyboard.feed(piece) {
		t.press(k)
	}
	if fed := t.fed; t.keyboard.waits() {
		t.after(50*time.Millisecond, func() {
			if t.fed != fed {
				return
			}
			for _, k := range t.keyboard.flush() {
				t.press(k)
			}
		})
	}
}

func (t *tui) press(k key) {
	switch {
	case t.over:
	case k.kind == keyInterrupt:
		t.interruptOrLeave()
	case t.dialog != nil:
		t.dialogKey(k)
	default:
		t.composerKey(k)
	}
}

func (t *tui) composerKey(k key) {
	switch c := &t.composer; k.kind {
	case keyText:
		c.write(k.text)
	case keyPaste:
		c.paste(k.text)
	case keyNewline:
		c.write("\n")
	case keyBackspace:
		c.erase()
	case keyClear:
		c.eraseLine()
	case keyEscape:
		t.interrupt()
	case keyEOF:
		if c.draft == "" {
			t.interruptOrLeave()
		}
	case keyEnter:
		if c.settled() && !c.escaped() {
			t.enter()
		}
	}
}

// interruptOrLeave is Ctrl-C: it empties the composer or interrupts the turn, and twice it is the end.
func (t *tui) interruptOrLeave() {
	if time.Since(t.leaving) < 2*time.Second {
		t.exit(0, "prompt_input_exit")
		return
	}
	t.leaving = time.Now()
	if t.dialog != nil {
		t.dialogKey(key{kind: keyEscape})
		return
	}
	if t.composer.take(); t.turn != nil {
		t.interrupt()
	}
}

// enter submits what is in the composer.
func (t *tui) enter() {
	shown, whole := t.composer.take()
	switch {
	case strings.TrimSpace(shown) == "":
	case strings.HasPrefix(shown, "!"):
		t.did(ActShell, whole, "")
		t.screen.show(shown)
	case strings.HasPrefix(shown, "/"):
		t.did(ActCommand, whole, "")
		t.screen.show("❯ " + shown)
		t.command(strings.TrimSpace(shown))
	default:
		t.submit(prompt{"❯ " + shown, whole, "typed"})
	}
}

func (t *tui) command(name string) {
	switch name {
	case "/exit", "/quit":
		t.exit(0, "prompt_input_exit")
	case "/clear":
		t.interrupt()
		t.fire("SessionEnd", "clear", map[string]any{"reason": "clear"}, func([]told) {
			t.id, t.turns, t.queue = uuid.NewString(), 0, nil
			t.log = newTranscript(t.id, t.self.Dir)
			t.start("clear")
		})
	default:
		t.screen.show("  ⎿  Unknown command: " + name)
	}
}

// prompt is what a turn is to begin with.
type prompt struct {
	shown string // in the history
	text  string // what the model gets
	how   string
}

// submit lets the hooks say whether a prompt is accepted; it is then queued, and its turn comes.
func (t *tui) submit(p prompt) {
	t.asked = append(t.asked, p)
	t.fire("UserPromptSubmit", "", map[string]any{"prompt": p.text, "prompt_id": uuid.NewString(), "permission_mode": t.mode}, func(said []told) {
		t.asked = t.asked[1:]
		for _, s := range said {
			if s.code == blocked {
				t.did(ActRefused, p.text, p.how)
				t.screen.show("  ⎿  UserPromptSubmit operation blocked by hook:\n     " + s.stderr)
				t.advance()
				return
			}
		}
		t.did(ActPrompt, p.text, p.how)
		if t.turn != nil {
			t.check(t.log.queued(p.text))
		}
		t.queue = append(t.queue, p)
		t.advance()
	})
}

// advance begins the next turn where there is none: with all that is queued, else with what a hook woke the conversation for.
func (t *tui) advance() {
	switch {
	case t.over || !t.open || t.turn != nil || len(t.asked) > 0:
	case len(t.queue) > 0:
		next := t.queue
		t.queue = nil
		t.take(next, false)
	case len(t.wakes) > 0:
		w := t.wakes[0]
		t.wakes = t.wakes[1:]
		t.submit(prompt{"● " + w.summary, w.text, "woken"})
	}
}

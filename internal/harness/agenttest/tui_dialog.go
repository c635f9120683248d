package agenttest

import (
	"slices"
	"strconv"
	"time"
)

// dialog asks for one of several choices. While it is open there is no
// composer: Enter confirms what is marked, whoever pressed it and whatever for.
type dialog struct {
	title   string
	lines   []string
	choices []string
	digits  bool // choose, too
	no      int  // the choice that changes nothing
	at      int
	foot    string
	chosen  func(choice int)
}

// openDialog opens a dialog at its choice d.at.
func (t *tui) openDialog(d dialog) {
	t.dialog = &d
	t.did(ActDialog, d.title, "")
}

func (t *tui) dialogKey(k key) {
	d := t.dialog
	switch k.kind {
	case keyUp:
		d.at = max(d.at-1, 0)
	case keyDown:
		d.at = min(d.at+1, len(d.choices)-1)
	case keyEnter:
		t.choose(d.at, "enter")
	case keyEscape:
		t.choose(d.no, "escape")
	case keyText, keyPaste:
		if n, err := strconv.Atoi(k.text); d.digits && k.kind == keyText && err == nil && n >= 1 && n <= len(d.choices) {
			t.choose(n-1, "digit")
			return
		}
		t.did(ActDropped, k.text, "")
	}
}

func (t *tui) choose(n int, how string) {
	d := t.dialog
	t.dialog = nil
	t.did(ActChoice, d.choices[n], how)
	d.chosen(n)
}

// askPermission lets a person decide whether a tool may run.
func (t *tui) askPermission(tool string, then func()) {
	t.fire("PermissionRequest", tool, map[string]any{"tool_name": tool, "tool_input": map[string]any{"command": "make"}}, func([]told) {})
	choices := []string{"Yes", "Yes, and always allow access to this folder from this project", "No"}
	t.openDialog(dialog{
		title: tool + " command", lines: []string{"   make", "   build it", "", " Do you want to proceed?"}, choices: choices, digits: true, no: len(choices) - 1,
		foot: " Esc to cancel · Tab to amend",
		chosen: func(choice int) {
			if choice == len(choices)-1 {
				t.interrupt()
				return
			}
			then()
		},
	})
	opened := t.dialog
	t.after(6*time.Second, func() {
		if t.dialog == opened {
			t.fire("Notification", "permission_prompt", map[string]any{
				"message": "Claude needs your permission to use " + tool, "notification_type": "permission_prompt",
			}, func([]told) {})
		}
	})
}

// welcome asks what must be known before the first conversation on this machine and in this folder, and then opens it.
func (t *tui) welcome() {
	switch {
	case t.do.Has("onboard") && !t.home.onboarded():
		t.openDialog(dialog{
			title: "Let's get started.", lines: []string{" Choose the text style that looks best with your terminal"},
			choices: []string{"✔ Auto (match terminal)", "  Dark mode", "  Light mode"}, foot: " Enter to confirm",
			chosen: func(int) {
				t.home["hasCompletedOnboarding"] = true
				t.check(t.home.write())
				t.welcome()
			},
		})
	case !t.home.trusts(t.self.Dir):
		t.askTrust()
	default:
		t.after(time.Duration(t.do.Number("starts", 0))*time.Millisecond, t.begun)
	}
}

func (t *tui) askTrust() {
	t.openDialog(dialog{
		title: "Accessing workspace:", lines: []string{
			" " + t.self.Dir, "",
			" Quick safety check: Is this a project you created or one you trust?", "",
		},
		choices: []string{"No, exit", "Yes, I trust this folder"}, foot: " Enter to confirm · Esc to cancel",
		chosen: func(choice int) {
			if choice == 0 {
				t.exit(1, "other")
				return
			}
			t.check(t.home.trust(t.self.Dir))
			t.welcome()
		},
	})
}

// begun is when the terminal is the conversation's.
func (t *tui) begun() {
	source := "startup"
	if t.resume {
		source = "resume"
	}
	t.start(source)
	if t.prompt != "" {
		t.submit(prompt{"❯ " + t.prompt, t.prompt, "argument"})
	}
}

// view is the dialog as it is shown.
func (d *dialog) view() []string {
	lines := slices.Concat([]string{" " + d.title, ""}, d.lines)
	for i, choice := range d.choices {
		mark := "   "
		if i == d.at {
			mark = " ❯ "
		}
		if d.digits {
			mark += strconv.Itoa(i+1) + ". "
		}
		lines = append(lines, mark+choice)
	}
	return append(lines, "", d.foot)
}

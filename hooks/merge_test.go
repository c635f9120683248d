package hooks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/hooks"
)

// TestMergeLooksAsTheRest holds the bytes: what Loop adds is indented and ended as the file's own lines are.
func TestMergeLooksAsTheRest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{
			"beside others, in tabs",
			"{\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"stop\": [\n\t\t\t{\n\t\t\t\t\"command\": \"say done\"\n\t\t\t}\n\t\t]\n\t}\n}\n",
			"{\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"stop\": [\n\t\t\t{\n\t\t\t\t\"command\": \"say done\"\n\t\t\t},\n" +
				"\t\t\t{\n\t\t\t\t\"command\": \"/b/loopctl hook cursor\"\n\t\t\t}\n\t\t],\n" +
				tabbed("sessionStart") + ",\n" + tabbed("beforeSubmitPrompt") + ",\n" + tabbed("sessionEnd") + "\n\t}\n}\n",
		},
		{
			"no hooks, CRLF", "{\r\n \"version\": 1\r\n}",
			"{\r\n \"version\": 1,\r\n \"hooks\": {\r\n" + spaced("sessionStart") + ",\r\n" + spaced("beforeSubmitPrompt") + ",\r\n" +
				spaced("stop") + ",\r\n" + spaced("sessionEnd") + "\r\n }\r\n}",
		},
	} {
		got, err := fragment(t, "cursor", "/b/loopctl", false).Merge([]byte(tt.text))
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v; merged (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func tabbed(event string) string {
	return fmt.Sprintf("\t\t%q: [\n\t\t\t{\n\t\t\t\t\"command\": \"/b/loopctl hook cursor\"\n\t\t\t}\n\t\t]", event)
}

func spaced(event string) string {
	return fmt.Sprintf("  %q: [\r\n   {\r\n    \"command\": \"/b/loopctl hook cursor\"\r\n   }\r\n  ]", event)
}

// TestStripTakesItsOwnAlone tells entries of Loop's from others, also where somebody has moved them.
func TestStripTakesItsOwnAlone(t *testing.T) {
	t.Parallel()
	const mine, ours = `{"type":"command","command":"say done"}`, `{"type":"command","command":"exec '/old/loopctl' hook claude"}`
	for _, tt := range []struct{ name, text, want string }{
		{"between others", `{"hooks":{"Stop":[{"hooks":[` + mine + `]}, {"hooks":[` + ours + `]}, {"hooks":[` + mine + `]}]}}`, `{"hooks":{"Stop":[{"hooks":[` + mine + `]}, {"hooks":[` + mine + `]}]}}`},
		{"moved to the front", `{"hooks":{"Stop":[ {"hooks":[` + ours + `]}, {"hooks":[` + mine + `]}]}}`, `{"hooks":{"Stop":[ {"hooks":[` + mine + `]}]}}`},
		{"twice at the front", `{"hooks":{"Stop":[{"hooks":[` + ours + `]}, {"hooks":[` + ours + `]},{"hooks":[` + mine + `]}]}}`, `{"hooks":{"Stop":[{"hooks":[` + mine + `]}]}}`},
		{"in a group with others", `{"hooks":{"Stop":[{"matcher":"", "hooks":[` + mine + `, ` + ours + ` ]}]}}`, `{"hooks":{"Stop":[{"matcher":"", "hooks":[` + mine + ` ]}]}}`},
		{"with a matcher", `{"hooks":{"Stop":[{"matcher":"x","hooks":[` + ours + `]}],"Mine":[]}}`, `{"hooks":{"Stop":[],"Mine":[]}}`},
		{"an event that is no longer ours", "{\"hooks\":{\"Old\":[\n{\"hooks\":[" + ours + "]}],\"Mine\":[]}}", `{"hooks":{"Mine":[]}}`},
		{"all of the hooks", "{\n\"a\":1,\n\"hooks\":{\n\"Stop\":[\n{\"hooks\":[" + ours + "]}]}}", "{\n\"a\":1}"},
		{"the first member", "{\n\"hooks\":{\n\"Stop\":[\n{\"hooks\":[" + ours + "]}]},\n\"a\":1}", "{\n\"a\":1}"},
		{"a version of the person's", "{\n\"version\":1,\n\"hooks\":{\n\"stop\":[\n{\"command\":\"loopctl hook cursor\"}]}\n}", "{\n\"version\":1\n}"},
		{"a version of ours", "{\n\"hooks\":{\n\"stop\":[\n{\"command\":\"loopctl hook cursor\"}]},\n\"version\":1\n}\n\n", "\n\n"},
	} {
		got, err := hooks.Strip([]byte(tt.text))
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v; left (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestOwnCommandsAreKnown(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"loopctl hook claude":                                           "loopctl",
		"/usr/bin/loopctl hook claude wait":                             "/usr/bin/loopctl",
		"exec '/home/o'\\''hara/a b/loopctl' hook codex --close-on-end": "/home/o'hara/a b/loopctl",
		`"/a b/loopctl" hook cursor stop`:                               "/a b/loopctl",
		"[ ! -x /x/loopctl ] || exec /x/loopctl hook claude":            "/x/loopctl",
		"loopctl sessions list":                                         "",
		"loopctl hook claude; say done":                                 "",
		"loopctl hook claude && say done":                               "",
		"say loopctl hook claude":                                       "",
		"/usr/bin/myloopctl hook claude":                                "",
		"'/usr/bin/loopctl hook claude":                                 "",
		"'' hook claude":                                                "",
		"":                                                              "",
	} {
		if got := hooks.Calls(command); got != want {
			t.Errorf("%q calls %q, want %q", command, got, want)
		}
	}
}

// TestUninstallUndoesInstall is the law, on any JSON in any layout.
func TestUninstallUndoesInstall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		harness := rapid.SampledFrom(hooks.Names()).Draw(t, "harness")
		text := []byte(layout(t) + settings(t) + layout(t))
		undone(t, harness, text)
	})
}

// FuzzUninstallUndoesInstall is the same law on any bytes.
func FuzzUninstallUndoesInstall(f *testing.F) {
	for _, shape := range shapes {
		if len(shape.text) < 1000 {
			f.Add(shape.text)
			f.Add(forCursor(shape.text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, harness := range hooks.Names() {
			undone(t, harness, []byte(text))
		}
	})
}

func undone(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, harness string, text []byte,
) {
	t.Helper()
	f, err := hooks.For(harness, bin, false)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if rest, err := hooks.Strip(text); err != nil || !bytes.Equal(rest, text) {
		return // it is no JSON, or has something of ours already
	}
	with, err := f.Merge(text)
	if err != nil {
		return
	}
	if again, err := f.Merge(with); err != nil || !bytes.Equal(again, with) {
		t.Fatalf("%q became %q, and when merged again %q, %v", text, with, again, err)
	}
	if rest, err := hooks.Strip(with); err != nil || !bytes.Equal(rest, text) {
		t.Fatalf("%q became %q, and then %q, %v", text, with, rest, err)
	}
	if lost := missing(value(text), value(with)); lost != "" {
		t.Fatalf("%q became %q, where %s is not as it was", text, with, lost)
	}
}

func value(text []byte) (v any) {
	_ = json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &v)
	return v
}

// missing names what of a value is not in another one, which may have more.
func missing(old, now any) string {
	switch old := old.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		for name, v := range old {
			if lost := missing(v, now[name]); !ok || lost != "" {
				return name + "." + lost
			}
		}
	case []any:
		now, ok := now.([]any)
		if !ok || len(now) < len(old) {
			return "a list"
		}
		for i, v := range old {
			if lost := missing(v, now[i]); lost != "" {
				return lost
			}
		}
	default:
		if old != nil && !cmp.Equal(old, now) {
			return fmt.Sprint(old)
		}
	}
	return ""
}

func layout(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", " ", "\n", "\r\n", "\t", "\n  ", "\r\n\t", "\n\n"}).Draw(t, "layout")
}

// settings draws an object that may have hooks in it, of any type.
func settings(t *rapid.T) string {
	members := []string{`"model"` + layout(t) + `:` + layout(t) + scalar(t)}
	if rapid.Bool().Draw(t, "versioned") {
		members = append(members, `"version":1`)
	}
	if rapid.IntRange(0, 3).Draw(t, "hooked") > 0 {
		var events []string
		for _, event := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Stop", "stop", "SessionStart", "sessionEnd", "Mine"}), 0, 4, rapid.ID).Draw(t, "events") {
			var entries []string
			for range rapid.IntRange(0, 3).Draw(t, "entries") {
				entries = append(entries, rapid.SampledFrom([]string{
					`{"command":"a"}`, `{"matcher":"x","hooks":[{"type":"command","command":"a"},{}]}`, `{"hooks":[ ]}`, `{}`, `3`,
				}).Draw(t, "entry"))
			}
			events = append(events, fmt.Sprintf("%q:%s", event, list(t, "[", entries, "]")))
		}
		members = append(members, `"hooks":`+list(t, "{", events, "}"))
	}
	return list(t, "{", slices.Clip(rapid.Permutation(members).Draw(t, "members"))[:rapid.IntRange(0, len(members)).Draw(t, "many")], "}")
}

func scalar(t *rapid.T) string {
	return rapid.SampledFrom([]string{`"opus"`, `"\"}]"`, `1.50e2`, `null`, `true`, `{}`, `[1,{"hooks":{}}]`}).Draw(t, "value")
}

func list(t *rapid.T, open string, items []string, closed string) string {
	var b strings.Builder
	b.WriteString(open)
	for i, it := range items {
		if i > 0 {
			b.WriteString(layout(t) + ",")
		}
		b.WriteString(layout(t) + it)
	}
	b.WriteString(layout(t) + closed)
	return b.String()
}

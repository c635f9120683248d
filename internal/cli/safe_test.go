package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/loop-daemon/loop/internal/cli"
)

func TestSafeLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                           "plain",
		"  indented":                      "  indented",
		"Grüße 👩\u200d💻":                  "Grüße 👩\u200d💻",
		"two\nlines\r\nand\ttab\n":        "two lines and tab",
		"\x1b]0;title\a":                  `\x1b]0;title\x07`,
		"\u009b31m":                       `\x9b31m`,
		"a\u202eb\u2066c\ufeffd\u2028e":   `a\u202eb\u2066c\ufeffd\u2028e`,
		"hidden\U000e0041":                `hidden\U000e0041`,
		"\x00\x7f":                        `\x00\x7f`,
		"broken \xff utf-8":               "broken \ufffd utf-8",
		"over\rwritten and backspaced\b.": `over written and backspaced\x08.`,
	} {
		if got := cli.SafeLine(in); got != want {
			t.Errorf("SafeLine(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzSafe holds that nothing that steers a terminal passes, and that JSON keeps its meaning.
func FuzzSafe(f *testing.F) {
	for _, seed := range []string{"", "\x1b[31m", "\u009b", "a\r\nb", "\u202e", "\U000e0041", "\xff\xfe", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, text := cli.SafeLine(s), cli.SafeText(s)
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		shown := cli.SafeJSON(string(encoded))
		for _, out := range []string{line, strings.NewReplacer("\n", "", "\t", "").Replace(text), shown} {
			if !utf8.ValidString(out) || strings.ContainsFunc(out, unicode.IsControl) || strings.ContainsAny(out, "\u202e\u2066\u2028\ufeff") {
				t.Errorf("%q came out as %q", s, out)
			}
		}
		var back, want string
		if err := json.Unmarshal([]byte(shown), &back); err != nil {
			t.Fatalf("%q: %v", shown, err)
		}
		if err := json.Unmarshal(encoded, &want); err != nil || back != want {
			t.Errorf("%q reads back as %q (%v)", shown, back, err)
		}
	})
}

package loop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestTokensAreFoundAgain(t *testing.T) {
	t.Parallel()
	a, b := loop.RunID("20260702-101500-123-ab2cd3"), loop.RunID("20260702-101501-007-zzzzz7")
	for name, c := range map[string]struct {
		text string
		want []loop.RunID
	}{
		"none":                   {"[loop] and [loop 15]", nil},
		"first line":             {"GitHub " + a.Token() + ": a comment\n\nbody", []loop.RunID{a}},
		"two, one of them twice": {a.Token() + b.Token() + "\n" + a.Token(), []loop.RunID{a, b}},
		"cut":                    {"[loop 20260702-101500-123-ab2cd", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, loop.FindTokens(c.text)); diff != "" {
				t.Errorf("tokens (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReachNamesTheTerminalThatItIsIn(t *testing.T) {
	t.Parallel()
	w := loop.WorkItem{Provider: loop.ProviderGitHub, Owner: "acme", Repo: "shop", Number: 15}
	own := loop.Process{PID: 21, Start: 1, Boot: "this"}
	const attach = "in its terminal (loopctl attach github:acme/shop#15 --write)"
	for name, c := range map[string]struct {
		p    loop.Presence
		want string
	}{
		"Loop's":              {loop.Presence{Launch: "l-1", Process: own, Where: "tmux %3"}, attach},
		"not told of":         {loop.Presence{}, attach},
		"a person's":          {loop.Presence{Process: own, Where: "pts/3"}, "in your terminal (pts/3)"},
		"a person's, unnamed": {loop.Presence{Process: own}, "in your terminal"},
	} {
		if got := c.p.Reach(w); got != c.want {
			t.Errorf("%s: it is reached %q, want %q", name, got, c.want)
		}
	}
}

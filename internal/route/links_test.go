package route_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

func TestClosingKeywords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		want       []string
	}{
		{
			"all nine words", "close #1 closes #2 closed #3 fix #4 fixes #5 fixed #6 resolve #7 resolves #8 resolved #10",
			[]string{"acme/shop#1", "acme/shop#2", "acme/shop#3", "acme/shop#4", "acme/shop#5", "acme/shop#6", "acme/shop#7", "acme/shop#8", "acme/shop#10"},
		},
		{"any case and colons", "CLOSES: #1, Fixes:#2, resolves : #3", []string{"acme/shop#1", "acme/shop#2", "acme/shop#3"}},
		{"GH and full names", "closes GH-5, fixes gh-6; resolves acme/plan#7", []string{"acme/shop#5", "acme/shop#6", "acme/plan#7"}},
		{"an owner like a number", "closes gh-5/x#7", []string{"gh-5/x#7"}},
		{
			"addresses", "Closes https://github.com/acme/plan/issues/5#issuecomment-1, fixes http://ghe.example.com:8080/a/b/issues/6.",
			[]string{"acme/plan#5", "ghe.example.com:8080/a/b#6"},
		},
		{"an address with the port of its scheme", "closes https://github.com:443/acme/plan/issues/5", []string{"acme/plan#5"}},
		{"another repository is never this one", "Closes acme/plan#15", []string{"acme/plan#15"}},
		{"once each", "fixes #5\n\nFixes #5 and closes Acme/Shop#5", []string{"acme/shop#5"}},
		{"emphasis, brackets, lists", "**Fixes #1** (closes #2)\n- resolves #3\n* fixes #4\n> no", []string{"acme/shop#1", "acme/shop#2", "acme/shop#3", "acme/shop#4"}},
		{"after a sentence that says not", "This is not related. Fixes #5", []string{"acme/shop#5"}},
		{"after a line that says not", "Not tested yet\nFixes #5", []string{"acme/shop#5"}},
		{"not, then really", "doesn't fix #5, closes #6", []string{"acme/shop#6"}},
		{"nested list", "- a\n\n    - fixes #5", []string{"acme/shop#5"}},
		{"backticks without their like", "a ` b fixes #5\n\nc ` d", []string{"acme/shop#5"}},
		{"an escaped backtick", "\\`fixes #5`", []string{"acme/shop#5"}},
		{"behind code", "`x` fixes #5", []string{"acme/shop#5"}},
		{"behind a comment", "<!-- fixes #4 --> fixes #5 <!--> fixes #6", []string{"acme/shop#5", "acme/shop#6"}},
		{"behind a fence", "```\nfixes #4\n```\nfixes #5", []string{"acme/shop#5"}},
		{"CR alone ends a line", "> fixes #4\rfixes #5", []string{"acme/shop#5"}},

		{"no keyword", "#5, see #6, part of #7, closing #8, fixing #9", nil},
		{"no number", "fixes the bug, closes #, resolves GH-, fixes issue 5", nil},
		{"impossible numbers", "fixes #0, fixes #05, fixes #99999999999999999999, fixes #2147483648", nil},
		{"part of a word", "prefixes #5, unfixed #6, hot-fixes #7, fix_closes #8, ßcloses #9, fixes #5th, fixes #6_", nil},
		{"does not", "does not fix #77", nil},
		{"doesn't", "It doesn't fix #77", nil},
		{"with a typographic apostrophe", "It won’t close #77", nil},
		{"not really", "This does not really fix #77", nil},
		{"never, cannot", "never fixes #77; cannot close #78", nil},
		{"not, wrapped", "This does not\nfix #77", nil},
		{"emphasised not", "does **not** fix #77", nil},
		{"code span", "`fixes #5` and ``a ` fixes #6`` and `a\nfixes #7`", nil},
		{"fences", "```\nfixes #5\n```\n~~~~ text\n~~~\nfixes #6\n~~~~\n- ```\n  fixes #7\n  ```", nil},
		{"fence without end", "````\n```\nfixes #5", nil},
		{"indented code", "text\n\n    fixes #5\n\n\tfixes #6", nil},
		{"quote", "> fixes #5\n >fixes #6\n- > fixes #7\n> > fixes #8", nil},
		{"comment", "<!-- fixes #5\n\nfixes #6 -->", nil},
		{"comment without end", "x <!-- fixes #5\n\nfixes #6", nil},
		{"comment with a fence in it", "<!-- ``` -->\n`fixes #5`", nil},
		{"raw HTML", "<pre>fixes #5</pre><CODE class=x>fixes #6</code >\n<blockquote>\nfixes #7\n</blockquote>", nil},
		{"pull request address", "fixes https://github.com/acme/shop/pull/5", nil},
		{"not an address", "fixes https://github.com/acme/shop/issues/5x, fixes ftp://github.com/a/b/issues/5, fixes https://gh/a/b/issues/5", nil},
		{"nothing", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ev := event(t, loop.KindPullRequest, githubtest.PullRequest("opened", "octocat", githubtest.Item{Number: 9, Body: tc.body}))
			var got, want []string
			for _, c := range route.Refs(ev, route.Links{}) {
				if c.How == route.HowKeyword {
					got = append(got, string(c.Item.Key()))
				}
			}
			for _, ref := range tc.want {
				want = append(want, string(item(t, ref).Key()))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q:\n%s", tc.body, diff)
			}
		})
	}
}

func FuzzClosingKeywords(f *testing.F) {
	for _, s := range []string{"Fixes #5", "does not fix #5", "`fixes #5`", "> closes #5", "<!--", "``` \nx", "<pre>", "- \t> x", "\\", "resolves a/b#5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		ev := loop.Event{Kind: loop.KindPullRequest, Repo: loop.Repo{Owner: "a", Name: "b"}, Item: loop.Item{Number: 9, PR: true, Body: body}}
		for _, c := range route.Refs(ev, route.Links{}) {
			if again, err := loop.ParseRef(c.Item.Ref()); err != nil || again.Key() != c.Item.Key() {
				t.Fatalf("%q names %v, which is no item: %v", body, c.Item, err)
			}
		}
		ev.Item.Body = "```\n" + body
		if refs := route.Refs(ev, route.Links{}); len(refs) > 1 && !hasFence(body) {
			t.Fatalf("code %q names %v", body, refs)
		}
	})
}

package loop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestParseAny(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"github:acme/shop#15", "github:acme/shop#15"},
		{"github:github.com/acme/shop#15", "github:acme/shop#15"},
		{"github:www.github.com/acme/shop#15", "github:acme/shop#15"},
		{"github:GitHub.com/Acme/Shop#15", "github:Acme/Shop#15"},
		{"github:ghe.example.com/acme/shop#15", "github:ghe.example.com/acme/shop#15"},
		{"github:GHE.example.com:8443/acme/shop#15", "github:ghe.example.com:8443/acme/shop#15"},
		{"github:localhost:8443/acme/shop#1", "github:localhost:8443/acme/shop#1"},
		{"acme/shop#15", "github:acme/shop#15"},
		{"acme/my.shop_2#15", "github:acme/my.shop_2#15"},
		{"octo_corp/shop#2147483647", "github:octo_corp/shop#2147483647"},
		{"ghe.example.com/acme/shop#15", "github:ghe.example.com/acme/shop#15"},
		{"ghe.example.com:8443/acme/shop#15", "github:ghe.example.com:8443/acme/shop#15"},
		{"localhost:8443/acme/shop#1", "github:localhost:8443/acme/shop#1"},
		{"https://github.com/acme/shop/issues/15", "github:acme/shop#15"},
		{"https://github.com:443/acme/shop/issues/15", "github:acme/shop#15"},
		{"http://github.com:80/acme/shop/issues/15", "github:acme/shop#15"},
		{"https://www.github.com/acme/shop/issues/15/", "github:acme/shop#15"},
		{"https://github.com/acme/shop/pull/15", "github:acme/shop#15"},
		{"https://github.com/acme/shop/pull/15/files#diff-0", "github:acme/shop#15"},
		{"https://github.com/acme/shop/issues/15#issuecomment-7", "github:acme/shop#15"},
		{"https://github.com/acme/shop/issues/15?x=1#y", "github:acme/shop#15"},
		{"https://ghe.example.com/acme/shop/issues/15", "github:ghe.example.com/acme/shop#15"},
		{"http://ghe.example.com:8080/acme/shop/pull/15", "github:ghe.example.com:8080/acme/shop#15"},
		{"https://octocat:secret@github.com/acme/shop/issues/15", "github:acme/shop#15"},
	} {
		got, err := loop.ParseAny(tc.in)
		if err != nil || got.Ref() != tc.want {
			t.Errorf("ParseAny(%q) = %q, %v, want %q", tc.in, got.Ref(), err, tc.want)
		}
	}
}

func TestParseAnyRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "#", "15", "#15", "shop#15", "/acme/shop#15", "acme/#15", "/shop#15", "acme/shop", "acme/shop#",
		"github:", "github:a/b", "github:#1", "github:a#1", "github:a/b/c/d#1",
		"a/b#0", "a/b#-1", "a/b#+1", "a/b#01", "a/b#1x", "a/b# 1", "a/b#1#2", "a/b#0x1", "a/b#١",
		"a/b#2147483648", "github:a/b#99999999999999999999",
		"../..#1", "a/..#1", "a/.#1", "./b#1", "-a/b#1", "a b/c#1", "a/b\n#1", "a/b\x00#1", "ä/b#1", " a/b#1", "a/b#1 ",
		"github:octo/repo/sub#15", "octo/repo/sub#15", "github:../a/b#1", "github:.a/b/c#1", "github:a..b/o/r#1",
		"github:ghe.example.com:/o/r#1", "github:ghe.example.com:x/o/r#1", "github:-ghe.example.com/o/r#1",
		"jira:KEY-1", "jira:a/b#1", "GITLAB:a/b#1", ":a/b#1",
		"https://", "https:///acme/shop/issues/15", "https://github.com", "https://github.com/acme/shop",
		"https://github.com/acme/shop/issues", "https://github.com/acme/shop/issues/", "https://github.com/acme/shop/issues/new",
		"https://github.com/acme/shop/discussions/15", "https://github.com/acme/shop/issues/15x", "https://gh/acme/shop/issues/15",
		"https://github.com/acme/../issues/15", "https://%zz/acme/shop/issues/15", "ftp://github.com/acme/shop/issues/15",
		"github:" + strings.Repeat("a", 101) + "/b#1", "github:a/" + strings.Repeat("b", 101) + "#1",
	} {
		got, err := loop.ParseAny(in)
		if !errors.Is(err, loop.ErrInvalid) || !got.IsZero() {
			t.Errorf("ParseAny(%q) = %q, %v, want ErrInvalid", in, got.Ref(), err)
		}
	}
}

func TestParseErrorNamesTheTextAndTheShape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a/b#0":                   `"0" is no item number`,
		"github:a/b":              "it has no #number",
		"jira:KEY-1":              `provider "jira" is not known`,
		"github:octo/repo/sub#15": `host "octo" needs a dot or a port`,
	} {
		_, err := loop.ParseAny(in)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", in)) {
			t.Errorf("ParseAny(%q): %v, want it to say %q and the text", in, err, want)
		}
	}
}

func TestParseRefTakesTheCanonicalTextAlone(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"acme/shop#15", "https://github.com/acme/shop/issues/15", "#15"} {
		if got, err := loop.ParseRef(in); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("ParseRef(%q) = %v, %v, want ErrInvalid", in, got, err)
		}
	}
}

func TestTheSameItem(t *testing.T) {
	t.Parallel()
	same := item(t, "github:GHE.example.com/Acme/Shop#5")
	if other := item(t, "github:ghe.example.com/aCME/sHOP#5"); same.Key() != other.Key() || !same.SameRepo(other) {
		t.Errorf("%v and %v are two items", same, other)
	}
	for _, ref := range []string{"github:Acme/Shop#5", "github:ghe.example.com:8443/Acme/Shop#5", "github:ghe.example.com/Acme/Shop#15"} {
		if item(t, ref).Key() == same.Key() {
			t.Errorf("%s and %v are one item", ref, same)
		}
	}
	if got := same.Sibling(7).Ref(); got != "github:ghe.example.com/Acme/Shop#7" {
		t.Errorf("Sibling(7) = %s", got)
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	var none loop.WorkItem
	if none.Ref() != "" || none.Key() != "" || !none.IsZero() {
		t.Errorf("the zero item has ref %q, key %q, zero %v", none.Ref(), none.Key(), none.IsZero())
	}
}

func TestItemJSON(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(item(t, "github:acme/shop#15"))
	if want := `{"ref":"github:acme/shop#15","provider":"github","owner":"acme","repo":"shop","number":15}`; err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := anyItem(t, "item")
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("marshal %v: %v", want, err)
		}
		var got loop.WorkItem
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("unmarshal %s: %v", b, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestItemJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`null`, `{}`, `[]`, `"github:a/b#1"`, `{"ref":"a/b#1"}`, `{"ref":"github:a/b#1"}`, `{"ref":7}`,
		`{"ref":"github:a/b#1","provider":"github","owner":"a","repo":"c","number":1}`,
		`{"ref":"github:a/b#1","provider":"github","owner":"a","repo":"b","number":2}`,
		`{"ref":"github:a/b#1","provider":"github","host":"ghe.example.com","owner":"a","repo":"b","number":1}`,
		`{"ref":"github:a/b#1","provider":"github","owner":"a","repo":"b","number":1.5}`,
	} {
		var got loop.WorkItem
		if err := json.Unmarshal([]byte(in), &got); err == nil || !got.IsZero() {
			t.Errorf("unmarshal %s = %v, %v, want an error", in, got, err)
		}
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"github:acme/shop#15":          `^github-acme-shop-15$`,
		"github:Acme/Shop#15":          `^github-acme-shop-15$`,
		"github:acme/my-shop_2#15":     `^github-acme-my-shop_2-15$`,
		"github:a-b/c#1":               `^github-a-b-c-1-h[0-9a-f]{8}$`,
		"github:a/b-c#1":               `^github-a-b-c-1$`,
		"github:a/b.c#1":               `^github-a-b_c-1-h[0-9a-f]{8}$`,
		"github:a/b_c#1":               `^github-a-b_c-1$`,
		"github:ghe.example.com/a/b#1": `^github-ghe_example_com-a-b-1-h[0-9a-f]{8}$`,
	} {
		if got := item(t, ref).Slug(); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("slug of %s = %s, want %s", ref, got, want)
		}
	}
}

func TestSlugsNeverCollide(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^[a-z0-9_-]{1,190}$`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyItem(t, "a"), anyItem(t, "b")
		if (a.Key() == b.Key()) != (a.Slug() == b.Slug()) {
			t.Fatalf("%s has slug %s, %s has slug %s", a, a.Slug(), b, b.Slug())
		}
		if !safe.MatchString(a.Slug()) {
			t.Fatalf("%s has slug %s", a, a.Slug())
		}
	})
}

func TestSlugOfLongNames(t *testing.T) {
	t.Parallel()
	host, owner, repo := strings.Repeat("h", 200)+".example", strings.Repeat("o", 100), strings.Repeat("r", 100)
	a, err := loop.NewWorkItem(host, owner, repo, 1)
	if err != nil {
		t.Fatal(err)
	}
	if b := a.Sibling(2); len(a.Slug()) > 200 || a.Slug() == b.Slug() {
		t.Errorf("slugs %q and %q", a.Slug(), b.Slug())
	}
}

func TestKeyIgnoresCase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := anyItem(t, "item")
		upper, err := loop.NewWorkItem(strings.ToUpper(w.Host), strings.ToUpper(w.Owner), strings.ToUpper(w.Repo), w.Number)
		if err != nil || upper.Key() != w.Key() || upper.Slug() != w.Slug() {
			t.Fatalf("%v and %v (%v) are two items", w, upper, err)
		}
	})
}

func TestURLHost(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://GitHub.com/a":         "",
		"https://github.com:443/a":     "",
		"https://ghe.example.com/a":    "ghe.example.com",
		"https://ghe.example.com:8443": "ghe.example.com:8443",
		"http://ghe.example.com:443":   "ghe.example.com:443",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := loop.URLHost(u); got != want {
			t.Errorf("URLHost(%s) = %q, want %q", in, got, want)
		}
	}
}

func FuzzParseAny(f *testing.F) {
	for _, s := range []string{"github:a/b#1", "a/b#0", "ghe.example.com:80/a/b#1", "https://github.com/a/b/pull/1/files?w=1#x", "jira:KEY-1", "../..#1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := loop.ParseAny(s)
		if err != nil {
			if !errors.Is(err, loop.ErrInvalid) || !w.IsZero() {
				t.Fatalf("ParseAny(%q) = %v, %v", s, w, err)
			}
			return
		}
		again, err := loop.ParseRef(w.Ref())
		if err != nil || again != w {
			t.Fatalf("ParseAny(%q) = %v, which reads back as %v, %v", s, w, again, err)
		}
		if page, err := loop.ParseAny(w.URL()); err != nil || page.Key() != w.Key() {
			t.Fatalf("the page of %v reads back as %v, %v", w, page, err)
		}
	})
}

// anyItem draws items that are likely to be confused: few letters, all of the separators.
func anyItem(t *rapid.T, label string) loop.WorkItem {
	w, err := loop.NewWorkItem(
		rapid.SampledFrom([]string{"", "github.com", "ghe.example.com", "ghe-example.com", "a.b", "a:1", "a.b:1"}).Draw(t, label+" host"),
		rapid.StringMatching(`[aB1][ab1_-]{0,3}`).Draw(t, label+" owner"),
		rapid.StringMatching(`[aB1][ab1._-]{0,3}`).Draw(t, label+" repo"),
		rapid.IntRange(1, 12).Draw(t, label+" number"),
	)
	if err != nil {
		t.Fatalf("draw an item: %v", err)
	}
	return w
}

func item(t *testing.T, ref string) loop.WorkItem {
	t.Helper()
	w, err := loop.ParseRef(ref)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

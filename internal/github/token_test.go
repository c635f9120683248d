package github_test

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
)

// fakeGH makes a program of that name which prints what is in a file and notes how it was called.
type fakeGH struct{ dir string }

func newGH(t *testing.T, token string) fakeGH {
	t.Helper()
	g := fakeGH{t.TempDir()}
	script := "#!/bin/sh\necho \"$@\" >>" + g.dir + "/calls\ncat " + g.dir + "/token || exit 4\n"
	if err := os.WriteFile(filepath.Join(g.dir, "gh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	g.prints(t, token)
	return g
}

func (g fakeGH) prints(t *testing.T, token string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "token"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (g fakeGH) calls(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(string(b), "auth token --hostname ", ""))
}

func (g fakeGH) env(more ...string) func(*github.Options) {
	return func(o *github.Options) { o.Env = append(more, "PATH="+g.dir+":"+os.Getenv("PATH")) }
}

// takes answers who has one of the tokens.
func takes(valid *string) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"/user": func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+*valid {
			refuses(401, `{"message":"Bad credentials"}`)(rw, r)
			return
		}
		says(`{"login":"octocat-`+*valid+`"}`)(rw, r)
	}, "/repos/acme/shop/issues/1": func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+*valid {
			refuses(401, `{"message":"Bad credentials"}`)(rw, r)
			return
		}
		says(`{"number":1}`)(rw, r)
	}}
}

func TestTokenOfGHIsKeptUntilItIsRefused(t *testing.T) {
	t.Parallel()
	g, valid := newGH(t, "one"), "one"
	w := newWorld(t, takes(&valid), g.env())
	for range 3 {
		if login, err := w.Login(t.Context(), ""); err != nil || login != "octocat-one" {
			t.Fatal(login, err)
		}
	}
	if got := g.calls(t); len(got) != 1 || got[0] != "github.com" {
		t.Errorf("gh was asked for %v", got)
	}
	valid = "two"
	g.prints(t, "two")
	if _, err := w.Issue(t.Context(), item(1)); err != nil {
		t.Error(err)
	}
	if login, err := w.Login(t.Context(), ""); err != nil || login != "octocat-two" {
		t.Errorf("%s, %v: the login is that of the old token", login, err)
	}
	if got := g.calls(t); len(got) != 2 {
		t.Errorf("gh was asked %d times, want 2", len(got))
	}
	valid = "three" // and gh knows only the second
	for range 3 {
		if _, err := w.Issue(t.Context(), item(1)); !errors.Is(err, loop.ErrDenied) || strings.Contains(err.Error(), "two") {
			t.Error(err)
		}
	}
	if got := len(g.calls(t)); got != 3 {
		t.Errorf("gh was asked %d times, want 3", got)
	}
	if got := len(w.requests()); got != 5 {
		t.Errorf("%d requests, want 5: one to each good answer, one with each bad token", got)
	}
}

func TestATokenIsLookedForAtOnceWhenAPersonWaits(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"none": "", "one that is refused": "one"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, valid := newGH(t, first), "two"
			w := newWorld(t, takes(&valid), g.env())
			ask := func() error { _, err := w.Issue(t.Context(), item(1)); return err }
			if err := ask(); !errors.Is(err, loop.ErrDenied) {
				t.Fatal(err)
			}
			g.prints(t, "two")
			if err := ask(); !errors.Is(err, loop.ErrDenied) || !strings.Contains(err.Error(), "gh auth login") {
				t.Errorf("%v: gh is not to be asked for each request", err)
			}
			w.Renew()
			for range 2 {
				if err := ask(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestATokenThatWasRefusedIsTriedAgainByTheFirstRequest(t *testing.T) {
	t.Parallel()
	valid := "other"
	w := newWorld(t, takes(&valid))
	if _, err := w.Issue(t.Context(), item(1)); !errors.Is(err, loop.ErrDenied) {
		t.Fatal(err)
	}
	valid = secretToken
	w.Renew()
	if _, err := w.Issue(t.Context(), item(1)); err != nil {
		t.Error(err)
	}
}

func TestNoToken(t *testing.T) {
	t.Parallel()
	g := newGH(t, "")
	for _, tc := range []struct {
		name string
		env  func(*github.Options)
		says string
	}{
		{"gh has none", g.env(), "no token for github.com: set GITHUB_TOKEN, or run gh auth login (gh auth token prints no token)"},
		{"no gh", func(o *github.Options) { o.Env = []string{"PATH=/nonexistent", "GITHUB_TOKEN= "} }, "no token for github.com: set GITHUB_TOKEN, or run gh auth login ("},
		{"the variable that was named", func(o *github.Options) { g.env("GITHUB_TOKEN=another")(o); o.TokenEnv = "MINE" }, "no token for github.com: MINE is not set"},
	} {
		w := newWorld(t, nil, tc.env)
		if _, err := w.Login(t.Context(), ""); !errors.Is(err, loop.ErrDenied) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.says)
		}
		if got := w.requests(); len(got) != 0 {
			t.Errorf("%s: asked without a token: %v", tc.name, got)
		}
	}
}

func TestATokenThatIsRefusedRests(t *testing.T) {
	t.Parallel()
	db := openJournal(t)
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		c := newClient(t, github.Options{
			Journal: db, Log: slog.New(slog.DiscardHandler), Env: []string{"GH_TOKEN=x"},
			HTTP: roundTrip(func(r *http.Request) (*http.Response, error) {
				requests++
				return respond(r, 401, `{}`), nil
			}),
		})
		for range 5 {
			for range 3 {
				if _, err := c.Issue(t.Context(), item(1)); !errors.Is(err, loop.ErrDenied) {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
		}
		if requests != 5 {
			t.Errorf("%d requests in five minutes, want 5", requests)
		}
	})
}

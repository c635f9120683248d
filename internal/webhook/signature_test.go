package webhook_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestSecretsRotateWithoutARestart(t *testing.T) {
	t.Parallel()
	var secrets [][]byte
	o := options(&shelf{})
	o.Secrets = func() [][]byte { return secrets }
	h := receiver(t, o)
	for _, c := range []struct {
		name    string
		secrets []string
		want    int
	}{
		{"none", nil, 401},
		{"empty", []string{""}, 401},
		{"another", []string{"another"}, 401},
		{"the new one beside it", []string{"another", secret}, 202},
		{"the old one gone", []string{secret}, 202},
	} {
		secrets = nil
		for _, s := range c.secrets {
			secrets = append(secrets, []byte(s))
		}
		if got := serve(h, signed(object)).Code; got != c.want {
			t.Errorf("secrets %s: status = %d, want %d", c.name, got, c.want)
		}
	}
}

func TestUnsigned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		allow     bool
		host      string
		signature string
		want      int
	}{
		{"not allowed", false, "127.0.0.1:8787", "", 401},
		{"to an address", true, "127.0.0.1:8787", "", 202},
		{"to a v6 address", true, "[::1]:8787", "", 202},
		{"to localhost", true, "localhost", "", 202},
		{"to a name that a web page may have", true, "rebound.example.com:8787", "", 401},
		{"with a signature that is right", true, "127.0.0.1:8787", sign(object), 202},
		{"with a signature that is wrong", true, "127.0.0.1:8787", "sha256=00", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{}
			o := options(s)
			o.AllowUnsigned = func() bool { return c.allow }
			r := signed(object)
			r.Host = c.host
			r.Header.Set("X-Forwarded-Host", "localhost")
			r.Header.Del("X-Hub-Signature-256")
			if c.signature != "" {
				r.Header.Set("X-Hub-Signature-256", c.signature)
			}
			if got := serve(receiver(t, o), r).Code; got != c.want {
				t.Errorf("status = %d, want %d", got, c.want)
			}
			for _, d := range s.all() {
				if got := d.HookID != ""; got != (c.signature != "") {
					t.Errorf("kept as a delivery of webhook %q, which only a signature proves to be ours", d.HookID)
				}
			}
		})
	}
}

func TestBadSignaturesAreLoudAndTellNothing(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var reports []loop.LogType
	o := options(&shelf{})
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.Report = func(_ context.Context, e loop.LogEvent) { reports = append(reports, e.Type) }
	h := receiver(t, o)

	var answers []string
	send := func(signature string) {
		r := signed(object)
		r.Header.Set("X-Hub-Signature-256", signature)
		res := serve(h, r)
		answers = append(answers, res.Body.String())
	}
	warnings := func() int { return strings.Count(log.String(), "level=WARN") }

	for range 4 {
		send("sha256=00")
	}
	send(sign(object)) // ends the row
	for range 4 {
		send("")
	}
	if got := warnings(); got != 0 {
		t.Errorf("%d warnings before five in a row", got)
	}
	for range 46 {
		send("sha256=" + strings.Repeat("ab", 32))
	}
	if got := warnings(); got != 2 {
		t.Errorf("%d warnings after fifty in a row, want one at 5 and one at 50", got)
	}
	if diff := cmp.Diff([]loop.LogType{loop.LogConfigWarning, loop.LogConfigWarning}, reports); diff != "" {
		t.Errorf("event log (-want +got):\n%s", diff)
	}
	if got := h.BadSignatures(); got != 54 {
		t.Errorf("bad signatures = %d, want 54", got)
	}
	for i, a := range answers {
		if i != 4 && a != answers[0] {
			t.Fatalf("answers to bad signatures differ: %s and %s", answers[0], a)
		}
	}
	for _, text := range []string{log.String(), strings.Join(answers, "")} {
		if strings.Contains(text, strings.TrimPrefix(sign(object), "sha256=")) || strings.Contains(text, secret) {
			t.Error("what was expected is told")
		}
	}
}

package loop_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestHasMarker(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		"done\n\n<!-- loop -->":             true,
		"done\r\n\r\n<!-- loop -->\r\n\r\n": true,
		"done\r<!-- loop -->":               true,
		"<!-- loop -->":                     true,
		"  <!-- loop -->  ":                 true,
		"":                                  false,
		"done":                              false,
		"> done\n> <!-- loop -->":           false,
		"> <!-- loop -->\n\nI disagree":     false,
		"done <!-- loop -->":                false,
		"<!-- loop --> done":                false,
		"<!-- loops -->":                    false,
		"```\n<!-- loop -->\n```":           false,
	} {
		if got := loop.HasMarker(body); got != want {
			t.Errorf("HasMarker(%q) = %v, want %v", body, got, want)
		}
	}
}

func TestAddMarkerAddsOne(t *testing.T) {
	t.Parallel()
	if got, want := loop.AddMarker("done\n"), "done\n\n<!-- loop -->"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\n", "> <!-- loop -->", "x\n<!-- loop -->\n", "```"})).Draw(t, "body")
		once := loop.AddMarker(body)
		if !loop.HasMarker(once) || loop.AddMarker(once) != once || !strings.HasPrefix(once, strings.TrimRight(body, " \t\r\n")) {
			t.Fatalf("AddMarker(%q) = %q", body, once)
		}
	})
}

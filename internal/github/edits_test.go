package github_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
)

func TestWhoEditedWhat(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"data":{"nodes":[{"id":"a","lastEditedAt":"2026-07-02T10:00:00Z","editor":{"__typename":"User","login":"mona"}},
			{"id":"b","lastEditedAt":null,"editor":null},null,{"id":"d","lastEditedAt":"2026-07-02T11:00:00Z","editor":null},{}]},
			"errors":[{"type":"NOT_FOUND","path":["nodes",2]}]}`,
		`{"data":{"nodes":[{"id":"e","lastEditedAt":"2026-07-02T12:00:00Z","editor":{"__typename":"Bot","login":"renovate"}}]}}`,
	}
	var asked []int
	w := newWorld(t, map[string]http.HandlerFunc{"/api/graphql": func(rw http.ResponseWriter, r *http.Request) {
		var body struct {
			Variables struct{ IDs []string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		asked = append(asked, len(body.Variables.IDs))
		fmt.Fprint(rw, answers[len(asked)-1])
	}}, func(o *github.Options) { o.APIURL += "/api/v3"; o.Env = []string{"GH_ENTERPRISE_TOKEN=x"} })
	nodes := append([]string{"a", "b", "c", "d"}, strings.Fields(strings.Repeat("e ", 100))...)
	got, err := w.Edits(t.Context(), strings.TrimPrefix(w.url, "http://"), nodes)
	want := map[string]github.Edit{
		"a": {By: loop.Actor{Login: "mona"}, At: at("02T10:00:00")}, "b": {}, "d": {At: at("02T11:00:00")},
		"e": {By: loop.Actor{Login: "renovate[bot]", Bot: true}, At: at("02T12:00:00")},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]int{100, 4}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestEditsThatAreNotTold(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"data":null,"errors":[{"type":"RATE_LIMITED","message":"enough"}]}`:                         "RATE_LIMITED enough",
		`{"data":{"nodes":[null]},"errors":[{"message":"Something went wrong","path":["nodes",0]}]}`:  "Something went wrong",
		`{"data":{"nodes":[null]},"errors":[{"type":"NOT_FOUND"},{"type":"INTERNAL","message":"x"}]}`: "INTERNAL x",
		`{"data":{}}`: "no nodes",
		`{}`:          "no nodes",
	} {
		w := newWorld(t, map[string]http.HandlerFunc{"/graphql": says(answer)})
		if _, err := w.Edits(t.Context(), "", []string{"a"}); !errors.Is(err, loop.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
		if got, err := w.Edits(t.Context(), "", nil); err != nil || len(got) != 0 || len(w.requests()) != 1 {
			t.Errorf("%v, %v: nothing was to be asked", got, err)
		}
	}
}

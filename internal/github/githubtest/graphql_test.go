package githubtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

func TestGraphQL(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	for _, label := range []string{"loop", "bug", "loop"} {
		shop.Open("ann", githubtest.Item{Labels: []string{label}})
	}
	shop.Open("bob", githubtest.Item{PR: true})
	s.Repo("acme", "secret").SetAccess(githubtest.Operator, false)
	for _, tc := range []struct{ name, query, variables, want string }{
		{
			"a page and the next",
			`query List($n: Int = 2, $after: String, $s: [IssueState!] = OPEN) { repository(owner: "acme", name: "shop") {
				issues(first: $n, after: $after, states: $s) { totalCount nodes { number } pageInfo { hasNextPage endCursor } } } }`,
			`{"after": "2"}`,
			`{"data":{"repository":{"issues":{"totalCount":3,"nodes":[{"number":1}],"pageInfo":{"hasNextPage":false,"endCursor":"3"}}}}}`,
		},
		{
			"aliases and fragments",
			`fragment it on Issue { title } { repository(owner:"ACME",name:"shop") { a: issueOrPullRequest(number:1) { ...it ... on PullRequest { isDraft } }
				b: issueOrPullRequest(number:4) { __typename ...it ...on PullRequest{isDraft} } } } # and that is all`,
			`{}`,
			`{"data":{"repository":{"a":{"title":"Shop is closed"},"b":{"__typename":"PullRequest","isDraft":false}}}}`,
		},
		{
			"a search",
			`query($q: String!) { search(query: $q, type: ISSUE, first: 10) { issueCount nodes { ...on Issue { number } } } }`,
			`{"q": "repo:acme/shop is:open type:issue label:\"LOOP\""}`,
			`{"data":{"search":{"issueCount":2,"nodes":[{"number":3},{"number":1}]}}}`,
		},
		{
			"no access", `{ repository(owner: "acme", name: "secret") { id } }`, `{}`,
			`{"data":{"repository":null},"errors":[{"message":"Could not resolve to a Repository with the name 'acme/secret'.","type":"NOT_FOUND"}]}`,
		},
		{"no such field", `{ viewer { shoeSize } }`, `{}`, `{"errors":[{"message":"Field 'shoeSize' doesn't exist on type 'User'"}]}`},
		{"no query", `{ viewer { login`, `{}`, `{"errors":[{"message":"Parse error: unexpected end of document"}]}`},
	} {
		body, err := json.Marshal(map[string]any{"query": tc.query, "variables": json.RawMessage(tc.variables)})
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		answer := ask(t, s, http.MethodPost, "/graphql", string(body))
		if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(answer.body, &got); err != nil {
			t.Fatalf("%s: %v", answer.body, err)
		}
		if diff := cmp.Diff(want, pick(want, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	got := ask(t, s, http.MethodPost, "/graphql", `{"query":"{viewer{login}}"}`, "Authorization", "")
	if got.status != http.StatusUnauthorized || !strings.Contains(string(got.body), "authenticated") {
		t.Errorf("nobody asks: %d %s", got.status, got.body)
	}
}

package githubtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// gh runs GitHub's own client against a server that it takes for an enterprise one.
type gh struct {
	s   *githubtest.Server
	env []string
}

func startGH(t *testing.T) *gh {
	t.Helper()
	if _, err := exec.LookPath("gh"); err != nil {
		t.Skip("gh is not installed (Debian: apt-get install gh), so nothing tells whether it would read what we say")
	}
	s := githubtest.NewTLSServer("git.example.com")
	t.Cleanup(s.Close)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, s.Certificate(), 0o600); err != nil {
		t.Fatal(err)
	}
	return &gh{s, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GH_CONFIG_DIR=" + dir, "XDG_CACHE_HOME=" + dir, "XDG_STATE_HOME=" + dir,
		"TMPDIR=" + dir, "SSL_CERT_FILE=" + ca, "GH_HOST=" + strings.TrimPrefix(s.URL, "https://"),
		"GH_ENTERPRISE_TOKEN=" + githubtest.Token, "GH_NO_UPDATE_NOTIFIER=1", "GH_PROMPT_DISABLED=1", "NO_COLOR=1",
	}}
}

func (g *gh) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gh", args...)
	cmd.Env = g.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		t.Logf("gh %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), err
}

// json runs gh and reads its answer, in which only what want names is compared.
func (g *gh) json(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := g.run(t, args...)
	if err != nil {
		t.Error(err)
		return
	}
	var got, expected any
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Errorf("gh %s: %v in %s", strings.Join(args, " "), err, out)
		return
	}
	if diff := cmp.Diff(expected, pick(expected, got)); diff != "" {
		t.Errorf("gh %s (-want +got):\n%s", strings.Join(args, " "), diff)
	}
}

// pick leaves out of got the members that objects in want do not have.
func pick(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, is := got.(map[string]any)
		if !is {
			return got
		}
		out := map[string]any{}
		for name, v := range w {
			if value, is := g[name]; is {
				out[name] = pick(v, value)
			}
		}
		return out
	case []any:
		g, is := got.([]any)
		if !is || len(g) != len(w) {
			return got
		}
		out := []any{}
		for i := range w {
			out = append(out, pick(w[i], g[i]))
		}
		return out
	}
	return got
}

const (
	issueFields = "assignees,author,body,closed,closedAt,comments,createdAt,id,labels,milestone,number,projectCards,reactionGroups," +
		"state,title,updatedAt,url"
	pullFields = issueFields + ",additions,baseRefName,changedFiles,commits,deletions,files,headRefName,headRefOid,headRepository," +
		"headRepositoryOwner,isCrossRepository,isDraft,latestReviews,maintainerCanModify,mergeCommit,mergeStateStatus,mergeable,mergedAt," +
		"mergedBy,potentialMergeCommit,reviewDecision,reviewRequests,reviews,statusCheckRollup"
)

func TestGHReads(t *testing.T) {
	t.Parallel()
	g := startGH(t)
	shop := g.s.Repo("acme", "shop")
	sha := strings.Repeat("c", 40)
	one := shop.Open("ann", githubtest.Item{Title: "Closed on Sundays", Body: "Why?", Labels: []string{"loop", "needs care"}})
	two := shop.Open("bob", githubtest.Item{PR: true, Title: "Open it", Fork: "bob", Head: "issue-1", HeadSHA: sha, Labels: []string{"loop"}})
	shop.Open("ann", githubtest.Item{Title: "Old"}).Close("ann", "not_planned")
	one.Comment("carol", "me too")
	one.React("bob", 0, "eyes")
	two.Review("ann", githubtest.Review{State: "approved", Body: "good"})
	shop.CheckRun(githubtest.Check{SHA: sha, Name: "lint"})
	shop.Status(githubtest.Check{SHA: sha, Name: "ci/x", Conclusion: "success"})
	where := []string{"-R", strings.TrimPrefix(g.s.URL, "https://") + "/acme/shop"}
	with := func(args ...string) []string { return append(args, where...) }

	const first = `{"number": 1, "title": "Closed on Sundays", "body": "Why?", "state": "OPEN", "closed": false, "closedAt": null, "author": {"login": "ann"},
		"labels": [{"name": "loop"}, {"name": "needs care"}], "createdAt": "2026-07-02T10:00:00Z", "url": "https://git.example.com/acme/shop/issues/1",
		"comments": [{"author": {"login": "carol"}, "body": "me too"}], "reactionGroups": [{"content": "EYES", "users": {"totalCount": 1}}]}`
	const second = `{"number": 2, "state": "OPEN", "isDraft": false, "headRefName": "issue-1", "isCrossRepository": true, "headRepositoryOwner": {"login": "bob"},
		"headRefOid": "cccccccccccccccccccccccccccccccccccccccc", "mergeable": "MERGEABLE", "mergedAt": null, "author": {"login": "bob"},
		"labels": [{"name": "loop"}], "reviews": [{"author": {"login": "ann"}, "state": "APPROVED", "body": "good"}],
		"statusCheckRollup": [{"__typename": "StatusContext", "context": "ci/x", "state": "SUCCESS"},
			{"__typename": "CheckRun", "name": "lint", "status": "COMPLETED", "conclusion": "FAILURE"}]}`
	g.json(t, `[`+first+`]`, with("issue", "list", "--json", issueFields)...)
	g.json(t, `[`+first+`]`, with("issue", "list", "--label", "needs care", "--json", issueFields)...)
	g.json(t, `[{"number": 3, "state": "CLOSED"}, {"number": 1}]`, with("issue", "list", "--state", "all", "--json", "number,state")...)
	g.json(t, `[]`, with("issue", "list", "--author", "bob", "--json", "number")...)
	g.json(t, first, with("issue", "view", "1", "--json", issueFields)...)
	g.json(t, `[`+second+`]`, with("pr", "list", "--json", pullFields)...)
	g.json(t, `[{"number": 2}]`, with("pr", "list", "--label", "loop", "--json", "number")...)
	g.json(t, second, with("pr", "view", "2", "--json", pullFields)...)
	g.json(t, `{"number": 2}`, with("pr", "view", "bob:issue-1", "--json", "number")...)

	const checks = "lint\tfail\t0\thttps://git.example.com/acme/shop/runs/3001\nci/x\tpass\t0\thttps://ci.example.com/3002\n"
	if out, err := g.run(t, with("pr", "checks", "2")...); err == nil || out != checks { // one failed, which it ends with 1 for
		t.Errorf("gh pr checks: %v, and says %q", err, out)
	}
	for _, args := range [][]string{{"issue", "view", "1"}, {"issue", "view", "1", "--comments"}, {"pr", "view", "2"}, {"issue", "list"}, {"pr", "list"}} {
		if out, err := g.run(t, with(args...)...); err != nil || out == "" {
			t.Errorf("gh %s: %v, and says %q", strings.Join(args, " "), err, out)
		}
	}
	if out, err := g.run(t, with("issue", "view", "9", "--json", "number")...); err == nil {
		t.Errorf("an issue that there is not: %s", out)
	}
}

// TestGHReadsPages holds that what is longer than a page is read to its end.
func TestGHReadsPages(t *testing.T) {
	t.Parallel()
	g := startGH(t)
	shop := g.s.Repo("acme", "shop")
	for n := range 220 {
		shop.Open("ann", githubtest.Item{PR: n%2 == 1, Labels: []string{"loop"}})
	}
	where := strings.TrimPrefix(g.s.URL, "https://") + "/acme/shop"
	for _, tc := range []struct {
		rows int
		args []string
	}{
		{110, []string{"issue", "list", "--limit", "300", "--label", "loop", "--json", "number", "--jq", ".[].number", "-R", where}},
		{110, []string{"issue", "list", "--limit", "300", "--json", "number", "--jq", ".[].number", "-R", where}},
		{110, []string{"pr", "list", "--limit", "300", "--label", "loop", "--json", "number", "--jq", ".[].number", "-R", where}},
		{105, []string{"pr", "list", "--limit", "105", "--json", "number", "--jq", ".[].number", "-R", where}},
		{220, []string{"api", "--paginate", "repos/acme/shop/issues?per_page=100", "--jq", ".[].number"}},
	} {
		out, err := g.run(t, tc.args...)
		rows := strings.Fields(out)
		slices.Sort(rows)
		if n := len(slices.Compact(rows)); err != nil || n != tc.rows {
			t.Errorf("gh %s: %d rows, %v, want %d", strings.Join(tc.args, " "), n, err, tc.rows)
		}
	}
}

func TestGHAPI(t *testing.T) {
	t.Parallel()
	g := startGH(t)
	shop := g.s.Repo("acme", "shop")
	one := shop.Open("ann", githubtest.Item{})
	for range 5 {
		one.Comment("ann", "more")
	}
	g.s.ForgetRequests()
	out, err := g.run(t, "api", "--paginate", "repos/acme/shop/issues/comments?per_page=2", "--jq", ".[].id")
	if err != nil || out != "1001\n1002\n1003\n1004\n1005\n" {
		t.Errorf("gh api --paginate: %v, %q", err, out)
	}
	if all, _ := g.s.Count("GET /api/v3/repositories/*/issues/comments*"); all != 2 {
		t.Errorf("gh followed %d links, want 2: %v", all, g.s.Requests())
	}
	g.json(t, `{"body": "from gh", "user": {"login": "operator"}}`, "api", "repos/acme/shop/issues/1/comments", "-f", "body=from gh")
	g.json(t, `{"data": {"viewer": {"login": "operator"}}}`, "api", "graphql", "-f", "query=query { viewer { login } }")
	shop.Rename("ann", "store")
	g.json(t, `{"number": 1}`, "api", "repos/acme/shop/issues/1")
}

func TestGHFails(t *testing.T) {
	t.Parallel()
	g := startGH(t)
	out, err := g.run(t, "api", "repos/acme/none")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, `"message":"Not Found"`) {
		t.Errorf("a repository that there is not: %v, %s", err, out)
	}
	g.s.RemoveToken(githubtest.Token)
	if out, err := g.run(t, "api", "user"); err == nil || !strings.Contains(out, "Bad credentials") {
		t.Errorf("a token that was revoked: %v, %s", err, out)
	}
}

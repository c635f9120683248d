package github_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
)

const headSHA = "1f0c2c2f8a3c9d7b6e5a4f3e2d1c0b9a8f7e6d5c"

var (
	shop    = loop.Repo{Owner: "acme", Name: "shop", ID: 701}
	octocat = loop.Actor{Login: "octocat", ID: 583231}
	mona    = loop.Actor{Login: "mona", ID: 4242}
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-07-"+s+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

func issue15() loop.Item {
	return loop.Item{
		Number: 15, Title: "Checkout drops the coupon", Body: "Steps:\n1. add a coupon\n2. pay", Author: mona,
		Labels: []string{"bug", "the-loop: auto-execute"}, State: "open", UpdatedAt: at("02T10:00:00"),
		URL: "https://github.com/acme/shop/issues/15",
	}
}

func pull9() loop.Item {
	return loop.Item{
		Number: 9, PR: true, Title: "Keep the coupon", Body: "Closes #15", Author: mona, State: "open", UpdatedAt: at("02T10:00:00"),
		URL: "https://github.com/acme/shop/pull/9", HeadRef: "issue-15-coupon", HeadSHA: headSHA, HeadRepo: shop, BaseRef: "main",
	}
}

func changed(it loop.Item, change func(*loop.Item)) loop.Item {
	change(&it)
	return it
}

func TestDecodeFixtures(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]loop.Event{
		"issues_labeled": {
			Action: "labeled", At: at("02T10:00:00"), Fact: "label:github:acme/shop#15:the-loop: auto-execute:2026-07-02T10:00:00Z",
			Actor: octocat, Repo: shop, Item: issue15(), Label: "the-loop: auto-execute", URL: "https://github.com/acme/shop/issues/15",
		},
		"issues_closed": {
			Action: "closed", At: at("02T11:30:00"), Fact: "close:github:acme/shop#15:2026-07-02T11:30:00Z",
			Actor: octocat, Repo: shop, URL: "https://github.com/acme/shop/issues/15",
			Item: changed(issue15(), func(i *loop.Item) {
				i.State, i.ClosedAt, i.UpdatedAt = "closed", at("02T11:30:00"), at("02T11:30:00")
			}),
		},
		"issues_transferred": {
			Action: "transferred", At: at("02T10:00:00"), Actor: octocat, Repo: shop, Item: issue15(),
			URL: "https://github.com/acme/shop/issues/15",
		},
		"issues_opened_enterprise": {
			Action: "opened", At: at("01T08:00:00"), Fact: "opened:github:ghe.example.com/acme/shop#15", Actor: octocat,
			Repo: loop.Repo{Host: "ghe.example.com", Owner: "acme", Name: "shop", ID: 701},
			Item: changed(issue15(), func(i *loop.Item) {
				i.Body, i.Author, i.URL = "", loop.Actor{}, "https://ghe.example.com/acme/shop/issues/15"
			}),
			URL: "https://ghe.example.com/acme/shop/issues/15",
		},
		"issue_comment_created_on_pull_request": {
			Action: "created", At: at("02T10:05:00"), Fact: "comment:3100000001", Actor: octocat, Repo: shop,
			Item: changed(pull9(), func(i *loop.Item) { i.HeadRef, i.HeadSHA, i.HeadRepo, i.BaseRef = "", "", loop.Repo{}, "" }),
			Comment: loop.Comment{
				ID: 3100000001, Body: "Please add a test – it’s missing 😀", Author: octocat,
				CreatedAt: at("02T10:05:00"), UpdatedAt: at("02T10:05:00"),
			},
			URL: "https://github.com/acme/shop/pull/9#issuecomment-3100000001",
		},
		"issue_comment_edited_deleted_account": {
			Action: "edited", At: at("02T10:20:00"), Actor: mona, Repo: shop, Item: issue15(),
			Comment: loop.Comment{ID: 3100000002, Body: "new", CreatedAt: at("02T10:05:00"), UpdatedAt: at("02T10:20:00")},
			URL:     "https://github.com/acme/shop/issues/15#issuecomment-3100000002",
		},
		"pull_request_opened_null_body": {
			Action: "opened", At: at("02T09:00:00"), Fact: "opened:github:acme/shop#9", Actor: mona, Repo: shop,
			Item: changed(pull9(), func(i *loop.Item) { i.Body = "" }), URL: "https://github.com/acme/shop/pull/9",
		},
		"pull_request_merged_fork_gone": {
			Action: "closed", At: at("02T12:00:00"), Fact: "close:github:acme/shop#9:2026-07-02T12:00:00Z", Actor: octocat, Repo: shop,
			Item: changed(pull9(), func(i *loop.Item) {
				i.State, i.ClosedAt, i.UpdatedAt, i.Merged = "closed", at("02T12:00:00"), at("02T12:00:01"), true
				i.Author, i.HeadRepo = loop.Actor{}, loop.Repo{}
			}),
			URL: "https://github.com/acme/shop/pull/9",
		},
		"pull_request_review_submitted": {
			Action: "submitted", At: at("02T10:15:00"), Fact: "review:2100000001", Actor: octocat, Repo: shop, Item: pull9(),
			Review: loop.Review{ID: 2100000001, State: "approved", Author: octocat},
			URL:    "https://github.com/acme/shop/pull/9#pullrequestreview-2100000001",
		},
		"pull_request_review_comment_outdated": {
			Action: "created", At: at("02T10:16:00"), Fact: "comment:r2200000001", Actor: octocat, Repo: shop, Item: pull9(),
			Comment: loop.Comment{
				ID: 2200000001, Body: "off by one", Author: octocat, Path: "cart/coupon.go", Line: 41,
				CreatedAt: at("02T10:16:00"), UpdatedAt: at("02T10:16:00"),
			},
			URL: "https://github.com/acme/shop/pull/9#discussion_r2200000001",
		},
		"workflow_run_completed_fork": {
			Action: "completed", At: at("02T10:25:00"), Fact: "workflow_run:9000000001:2:failure", Repo: shop,
			CI: loop.CI{
				ID: 9000000001, Attempt: 2, Name: "test", Conclusion: "failure", SHA: headSHA, Branch: "topic",
				HeadRepo: loop.Repo{Owner: "mona", Name: "shop", ID: 999}, Summary: "Keep the coupon",
			},
			URL: "https://github.com/acme/shop/actions/runs/9000000001",
		},
		"check_run_completed": {
			Action: "completed", At: at("02T10:26:00"), Fact: "check_run:9100000001:1:timed_out", Repo: shop,
			CI: loop.CI{
				ID: 9100000001, Attempt: 1, Name: "lint", Conclusion: "timed_out", SHA: headSHA, Branch: "issue-15-coupon", HeadRepo: shop,
				App: "lint-app", PRs: []loop.PullHead{{Number: 9, SHA: headSHA}}, Summary: "lint timed out\nafter 5 minutes",
			},
			URL: "https://github.com/acme/shop/runs/9100000001",
		},
		"check_suite_completed_fork": {
			Action: "completed", At: at("02T10:27:00"), Fact: "check_suite:41:1:success", Repo: shop,
			CI: loop.CI{ID: 41, Attempt: 1, Name: "GitHub Actions", Conclusion: "success", SHA: headSHA, App: "github-actions"},
		},
		"check_suite_completed_in_a_fork": {
			Action: "completed", At: at("02T10:27:00"), Fact: "check_suite:42:1:failure", Repo: shop,
			CI: loop.CI{
				ID: 42, Attempt: 1, Name: "GitHub Actions", Conclusion: "failure", SHA: headSHA, Branch: "issue-15-coupon", App: "github-actions",
			},
		},
		"status_failure": {
			At: at("02T10:28:00"), Fact: "status:9300000001:1:failure", Repo: shop,
			CI: loop.CI{
				ID: 9300000001, Attempt: 1, Name: "ci/legacy", Conclusion: "failure", SHA: headSHA, Branch: "issue-15-coupon", Summary: "2 tests failed",
			},
			URL: "https://github.com/acme/shop/commit/" + headSHA,
		},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(filepath.Join("testdata", file+".json"))
			if err != nil {
				t.Fatal(err)
			}
			want.Delivery, want.Source, want.Kind = "d-1", loop.SourceWebhook, kindOf(t, file)
			got, err := github.Decode(loop.Delivery{ID: "d-1", Source: loop.SourceWebhook, Kind: string(want.Kind), Body: body})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// kindOf reads the event's kind out of a fixture's name.
func kindOf(t *testing.T, file string) loop.Kind {
	t.Helper()
	var best loop.Kind
	for _, k := range loop.Kinds() {
		if strings.HasPrefix(file, string(k)) && len(k) > len(best) {
			best = k
		}
	}
	if best == "" {
		t.Fatalf("fixture %s is of no kind", file)
	}
	return best
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, kind, body string }{
		{"nothing", "issues", ""},
		{"null", "issues", "null"},
		{"a list", "issues", `[{"action":"opened"}]`},
		{"text", "issues", `"x"`},
		{"cut off", "issues", `{"action":"opened"`},
		{"two values", "issues", `{} {}`},
		{"not JSON", "issues", `payload=%7B%7D`},
		{"nested without end", "issues", strings.Repeat(`{"a":`, 200_000)},
		{"nested very deeply", "issues", `{"issue":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`},
		{"an unknown kind", "brand_new", `{}`},
		{"a ping", "ping", `{"zen":"x"}`},
		{"no kind", "", `{}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ev, err := github.Decode(loop.Delivery{ID: "d-1", Kind: tc.kind, Body: []byte(tc.body)})
			if !errors.Is(err, loop.ErrInvalid) || !strings.Contains(err.Error(), "d-1") {
				t.Errorf("Decode = %+v, %v, want ErrInvalid that names the delivery", ev, err)
			}
		})
	}
}

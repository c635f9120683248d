package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// gitTimeout bounds each question to git: it answers from local files.
const (
	gitTimeout = 5 * time.Second
	gitGrace   = 50 * time.Millisecond
)

// itemHere is the work item that the current folder is for: the number from the branch's name, the repository from the
// remote called origin.
func itemHere(ctx context.Context) (loop.WorkItem, error) {
	branch, err := git(ctx, gitTimeout, "", "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return loop.WorkItem{}, notHere(err, "HEAD is detached, there is no branch to take an issue's number from")
	}
	return branchItem(ctx, gitTimeout, "", branch)
}

// branchItem is the work item that a branch is for, in the repository of a folder; the current one is "".
func branchItem(ctx context.Context, timeout time.Duration, dir, branch string) (loop.WorkItem, error) {
	number := loop.BranchIssue(branch)
	if number == 0 {
		return loop.WorkItem{}, notHere(nil, fmt.Sprintf("branch %q names no issue, as in issue-15-fix-login", branch))
	}
	remote, err := git(ctx, timeout, dir, "remote", "get-url", "origin")
	if err != nil {
		return loop.WorkItem{}, notHere(err, "the repository has no remote called origin")
	}
	host, owner, repo, ok := splitRemote(remote)
	if !ok {
		return loop.WorkItem{}, notHere(nil, fmt.Sprintf("origin, %s, is no repository on GitHub", withoutUser(remote)))
	}
	item, err := loop.NewWorkItem(host, owner, repo, number)
	if err != nil {
		return loop.WorkItem{}, notHere(nil, fmt.Sprintf("origin is %s: %s", withoutUser(remote), loop.Plain(err)))
	}
	return item, nil
}

// git asks about the repository of a folder.
func git(ctx context.Context, timeout time.Duration, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	res, err := proc.Run(ctx, proc.Cmd{Path: "git", Args: args, Dir: dir, Env: append(os.Environ(), "LC_ALL=C"), Grace: gitGrace})
	return strings.TrimSpace(string(res.Stdout)), err
}

// notHere explains why . is no work item. Git ends with another status than 128 where it only has nothing to answer.
func notHere(err error, nothing string) error {
	const remedy = "name the work item, as in OWNER/REPO#15"
	exit, ran := errors.AsType[*proc.ExitError](err)
	switch {
	case err == nil, ran && exit.Code != 128:
		return fmt.Errorf("work item .: %s: %s: %w", nothing, remedy, loop.ErrInvalid)
	case ran:
		return fmt.Errorf("work item .: %s: %s: %w", strings.TrimSpace(exit.Stderr), remedy, loop.ErrInvalid)
	}
	return fmt.Errorf("work item .: %w: %s", err, remedy)
}

// scpLike is the short form of an ssh remote, [user@]host:path; the path does not begin with // as a URL's rest would.
var scpLike = regexp.MustCompile(`^(?:[^@/:]+@)?([^@/:]+):([^/].*|/[^/].*)$`)

// splitRemote reads host, owner and repository out of a remote of git: https, ssh and git URLs, and the short ssh form.
func splitRemote(remote string) (host, owner, repo string, ok bool) {
	var path string
	if m := scpLike.FindStringSubmatch(remote); m != nil {
		host, path = m[1], m[2]
	} else {
		u, err := url.Parse(remote)
		if err != nil {
			return "", "", "", false
		}
		switch u.Scheme {
		case "https", "http":
			host = u.Host
		case "ssh", "git", "git+ssh", "ssh+git":
			host = u.Hostname() // the port is ssh's, not that of the pages
		default:
			return "", "", "", false
		}
		path = u.Path
	}
	if strings.EqualFold(host, "ssh.github.com") { // github.com's ssh on the port of https
		host = "github.com"
	}
	owner, repo, ok = strings.Cut(strings.Trim(path, "/"), "/")
	repo = strings.TrimSuffix(repo, ".git")
	return host, owner, repo, ok && host != "" && owner != "" && repo != "" && !strings.Contains(repo, "/")
}

// withoutUser is a remote for showing: what stands before the @ may be a token.
func withoutUser(remote string) string {
	scheme, rest, isURL := strings.Cut(remote, "://")
	if !isURL {
		scheme, rest = "", remote
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	if isURL {
		return scheme + "://" + rest
	}
	return rest
}

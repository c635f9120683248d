package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// hookGit bounds the one question to git that a hook asks.
const hookGit = 300 * time.Millisecond

// itemIn is the work item that a folder is for, as hooks find it: there is none where the branch names no issue, HEAD is
// detached, or origin is not on GitHub. Git is only started once the branch is known to name one: most do not, and an agent
// waits for the answer at every turn.
func itemIn(ctx context.Context, dir string) loop.WorkItem {
	branch := branchOf(dir)
	if branch == unreadable {
		branch, _ = git(ctx, hookGit, dir, "symbolic-ref", "--quiet", "--short", "HEAD")
	}
	if loop.BranchIssue(branch) == 0 {
		return loop.WorkItem{}
	}
	item, err := branchItem(ctx, hookGit, dir, branch)
	if err != nil {
		return loop.WorkItem{}
	}
	return item
}

// unreadable is the name that git puts into HEAD where it keeps branches in a way of its own.
const unreadable = ".invalid"

// branchOf reads the name of the branch that a folder is on; "" where there is none.
func branchOf(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	for {
		head, err := readHead(filepath.Join(dir, ".git"))
		if err == nil {
			branch, _ := strings.CutPrefix(strings.TrimSpace(head), "ref: refs/heads/")
			return branch
		}
		if parent := filepath.Dir(dir); parent != dir && errors.Is(err, fs.ErrNotExist) {
			dir = parent
			continue
		}
		return ""
	}
}

// readHead reads HEAD of a repository. In a worktree .git is a file that says where the repository is.
func readHead(git string) (string, error) {
	info, err := os.Stat(git)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		link, err := os.ReadFile(git)
		if err != nil {
			return "", err
		}
		to, _ := strings.CutPrefix(strings.TrimSpace(string(link)), "gitdir: ")
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(git), to)
		}
		git = to
	}
	head, err := os.ReadFile(filepath.Join(git, "HEAD")) //nolint:gosec // of the repository that the agent is in; it is not shown
	return string(head), err
}

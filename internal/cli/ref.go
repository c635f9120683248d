package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// refHelp says in the help what a REF may be.
const refHelp = "github:OWNER/REPO#N, OWNER/REPO#N, HOST/OWNER/REPO#N, the URL of an issue or pull request, " +
	"or . for the issue of the current folder's branch"

// itemArg is the work item that a command is about: its argument, or --work-item for scripts.
type itemArg struct {
	Ref      string `arg:"" optional:"" help:"The work item: ${ref}."`
	WorkItem string `name:"work-item" placeholder:"REF" help:"The same as the argument."`
}

// Validate wants exactly one of the two.
func (a itemArg) Validate() error {
	switch {
	case a.Ref == "" && a.WorkItem == "":
		return errors.New(`expected a work item, such as OWNER/REPO#15`)
	case a.Ref != "" && a.WorkItem != "":
		return errors.New("the work item is named twice, as argument and with --work-item")
	}
	return nil
}

func (a itemArg) item(ctx context.Context) (loop.WorkItem, error) {
	return findItem(ctx, cmp.Or(a.Ref, a.WorkItem))
}

// findItem reads a work item in any of the forms of refHelp.
func findItem(ctx context.Context, ref string) (loop.WorkItem, error) {
	if ref == "." {
		return itemHere(ctx)
	}
	return loop.ParseAny(ref)
}

// refOrNone is the canonical ref of an optional work item.
func refOrNone(ctx context.Context, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	item, err := findItem(ctx, ref)
	return item.Ref(), err
}

// subject reads what explain is asked about: a work item's ref in canonical form, or a delivery's id as it is. Ids of
// deliveries may hold a ref, but none begins like one.
func subject(ctx context.Context, s string) (string, error) {
	before, _, hash := strings.Cut(s, "#")
	scheme, _, _ := strings.Cut(s, ":")
	looksLikeRef := s == "." || scheme == "http" || scheme == "https" || scheme == loop.ProviderGitHub ||
		hash && strings.Contains(before, "/") && !strings.ContainsAny(before, ":")
	item, err := findItem(ctx, s)
	switch {
	case err == nil:
		return item.Ref(), nil
	case looksLikeRef:
		return "", err
	case strings.TrimSpace(s) == "":
		return "", fmt.Errorf("expected a delivery's id or a work item: %w", loop.ErrInvalid)
	}
	return s, nil
}

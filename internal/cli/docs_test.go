package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/cli"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

var root = filepath.Join("..", "..")

// TestDocs holds docs/loopctl.md to the tree: a heading for each command, and in its order.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "loopctl.md"))
	must(t, err)
	want, err := cli.Commands()
	must(t, err)
	var got []string
	for _, heading := range regexp.MustCompile("(?m)^### `loopctl ([a-z -]+)`?").FindAllStringSubmatch(string(page), -1) {
		got = append(got, strings.TrimSpace(heading[1]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headings of docs/loopctl.md (-tree +page):\n%s", diff)
	}
}

// TestExamples holds that every example of the help and the page is taken by the parser: none ends with wrong usage.
func TestExamples(t *testing.T) {
	t.Parallel()
	commands, err := cli.Commands()
	must(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "loopctl.md"))
	must(t, err)
	texts := []string{string(page)}
	for _, command := range commands {
		r := loopctl(t.Context(), nil, "", append(strings.Fields(command), "--help")...)
		if r.Code != 0 || !strings.Contains(r.Stdout, "Usage: loopctl "+command) || r.Stderr != "" {
			t.Errorf("%s --help: exit code %d\n%s%s", command, r.Code, r.Stdout, r.Stderr)
		}
		texts = append(texts, r.Stdout)
	}
	f := newFake().start(t)
	for _, example := range regexp.MustCompile(`(?m)^ *(?:\$ )?loopctl ([^|>\n]*)`).FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		args := strings.Fields(strings.NewReplacer(`"$ID"`, "id-1", "~/shop", "/", "comment.json", "-", " .", " a/b#1").Replace(example[1]))
		if slices.Contains(args, "-f") || args[0] == "config" || args[0] == "hooks" || slices.Contains(args, "attach") { // goes on, depends on files, or needs a terminal
			continue
		}
		if r := loopctl(t.Context(), f.env(), "{}", args...); r.Code == 2 {
			t.Errorf("loopctl %s: %s", example[1], r.Stderr)
		}
	}
}

// TestHelp holds that help and version need no daemon and no home.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "--help", "--version", "version", "version -o json"} {
		if r := loopctl(t.Context(), nil, "", strings.Fields(args)...); r.Code != 0 || r.Stdout == "" || r.Stderr != "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, r.Code, r.Stdout, r.Stderr)
		}
	}
}

// TestLinks holds that what belongs to the daemon is not linked into loopctl: hooks start it all the time.
func TestLinks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	res, err := proc.Run(ctx, proc.Cmd{Path: "go", Args: []string{"list", "-deps", "./loopctl"}, Dir: root})
	must(t, err)
	deps := strings.Fields(string(res.Stdout))
	if !slices.Contains(deps, "github.com/loop-daemon/loop/internal/cli") {
		t.Fatalf("%d packages, and cli is none of them", len(deps))
	}
	for _, dep := range deps {
		if regexp.MustCompile(`sqlite|fsnotify|go-github|^testing$`).MatchString(dep) {
			t.Errorf("loopctl links %s", dep)
		}
	}
}

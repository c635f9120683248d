package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
	"github.com/loop-daemon/loop/internal/tmux"
)

// transcriptLimit is how much of what a terminal showed is kept of one launch.
const transcriptLimit = 20 << 20

// record saves what a pane has shown so far, in the file of its launch. What is less than was saved before is added to that: a
// program that ends may take its screen with it.
func (t *Tmux) record(ctx context.Context, f found) error {
	var text bytes.Buffer
	if err := t.o.Server.Transcript(ctx, f.Target(), &text, transcriptLimit); err != nil {
		return err
	}
	root, err := privateRoot(filepath.Join(t.o.Transcripts, f.item.Slug()))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	name, now := transcriptName(f.pane), text.Bytes()
	if before, err := root.ReadFile(name); err == nil && len(before) > len(now) && !bytes.HasSuffix(before, now) {
		now = slices.Concat(before, []byte("\n[at the end]\n"), now)
	}
	return atomicfile.Write(root, name, now, 0o600)
}

// transcriptName rises with time.
func transcriptName(p pane) string {
	return p.StartedAt.UTC().Format("20060102-150405") + "-" + p.Launch[:8] + ".txt"
}

// Transcript writes what the terminals of a session have shown, the oldest first, and what its live one shows. With follow it goes
// on with what scrolls off the live screen until ctx ends. It returns write's error.
func (t *Tmux) Transcript(ctx context.Context, s loop.Session, follow bool, write func(text string) error) error {
	f, err := t.find(ctx, s)
	if err != nil {
		return err
	}
	if err := t.saved(s, f, write); err != nil {
		return err
	}
	for v := (view{follow: follow, write: write}); ; {
		if f.state == tmux.Live {
			if err := t.showLive(ctx, f, &v); err != nil {
				return err
			}
		}
		if !follow || !pauseFor(ctx, followInterval) {
			return nil
		}
		if f, err = t.find(ctx, s); err != nil {
			return err
		}
	}
}

// view is one reader's way through what a live terminal shows.
type view struct {
	follow bool
	write  func(text string) error
	launch string // that was shown first as a whole
	shown  int    // lines of it that have scrolled off and were shown
}

// saved writes the transcripts of launches that are over.
func (t *Tmux) saved(s loop.Session, f found, write func(text string) error) error {
	dir := filepath.Join(t.o.Transcripts, s.WorkItem.Slug())
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	from := s.CreatedAt.UTC().Format("20060102-150405")
	for _, e := range entries {
		if e.Name() < from || f.state == tmux.Live && e.Name() == transcriptName(f.pane) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if err := write("=== terminal " + strings.TrimSuffix(e.Name(), ".txt") + part("as it was", string(text))); err != nil {
			return err
		}
	}
	return nil
}

// showLive writes all that a live pane shows, and after that what has scrolled off its screen since: what stands there still changes.
func (t *Tmux) showLive(ctx context.Context, f found, v *view) error {
	first := v.launch != f.pane.Launch
	if !first && f.History <= v.shown {
		return nil
	}
	var text bytes.Buffer
	if err := t.o.Server.Transcript(ctx, f.Target(), &text, transcriptLimit); err != nil {
		return err
	}
	if first {
		v.launch, v.shown = f.pane.Launch, f.History
		title := "=== terminal, live: loopctl attach " + f.item.Ref() + " shows it as it changes\n"
		return v.write(title + strings.TrimRight(plain(text.String()), " \n") + "\n")
	}
	lines := strings.SplitAfter(text.String(), "\n")
	until := min(f.History, len(lines))
	from := min(v.shown, until)
	v.shown = until
	return v.write(plain(strings.Join(lines[from:until], "")))
}

// PruneTerminals removes transcripts that are older than age, and of the dead panes all but so many, the newest. It says how many
// of both. Panes that live or are not ours are left alone.
func (t *Tmux) PruneTerminals(ctx context.Context, keep int, age time.Duration) (int, error) {
	n, err := t.pruneTranscripts(age)
	dead, probeErr := t.held(ctx)
	if probeErr != nil {
		return n, errors.Join(err, probeErr)
	}
	dead = slices.DeleteFunc(dead, func(f found) bool { return f.state != tmux.Dead })
	slices.SortFunc(dead, func(a, b found) int { return b.StartedAt.Compare(a.StartedAt) })
	for _, f := range dead[min(keep, len(dead)):] {
		if err := t.record(ctx, f); err != nil {
			return n, err
		}
		if err := t.o.Server.RemoveSession(ctx, f.Target()); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

func (t *Tmux) pruneTranscripts(age time.Duration) (int, error) {
	root, err := os.OpenRoot(t.o.Transcripts)
	if err != nil {
		return 0, fmt.Errorf("prune transcripts: %w", err)
	}
	defer func() { _ = root.Close() }()
	n := 0
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) <= age {
			return err
		}
		n++
		return root.Remove(path)
	})
	if err != nil {
		return n, fmt.Errorf("prune transcripts: %w", err)
	}
	return n, nil
}

// Attach returns the command that watches a session's terminal, and what the person should know of it. The keyboard is only had of
// a live terminal of a session that is not closed.
func (t *Tmux) Attach(ctx context.Context, s loop.Session, v tmux.Viewer) (argv []string, note string, err error) {
	f, err := t.find(ctx, s)
	if err != nil {
		return nil, "", err
	}
	if f.state != tmux.Live && f.state != tmux.Dead {
		next := ", but gets one at its next event"
		if !s.Open() {
			next = ""
		}
		return nil, "", fmt.Errorf("%[1]s has no terminal now%[2]s; loopctl logs %[1]s shows what it was: %[3]w", s.WorkItem, next, loop.ErrConflict)
	}
	switch {
	case !s.Open():
		v.Write, note = false, "the session is closed: this is its record, to read"
	case f.state == tmux.Dead:
		v.Write, note = false, "the agent has ended: this is what it showed; it resumes at its next event"
	}
	attach, err := t.o.Server.Attach(f.Pane.SessionID, v)
	if attach.Nested {
		note = strings.TrimPrefix(note+"; you are in another tmux: press its prefix twice to reach this one", "; ")
	}
	return attach.Argv, note, err
}

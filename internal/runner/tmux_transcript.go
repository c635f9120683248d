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
	if err := t.o.Server.Transcript(ctx, f.target(), &text, transcriptLimit); err != nil {
		return err
	}
	dir := filepath.Join(t.o.Transcripts, f.item.Slug())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
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
	f, err := t.find(ctx, s.WorkItem)
	if err != nil {
		return err
	}
	if err := t.saved(s, f, write); err != nil {
		return err
	}
	for shown := 0; ; {
		if f.state == tmux.Live {
			if shown, err = t.showLive(ctx, f, shown, follow, write); err != nil {
				return err
			}
		}
		if !follow || !pauseFor(ctx, followInterval) {
			return nil
		}
		if f, err = t.find(ctx, s.WorkItem); err != nil {
			return err
		}
	}
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

// showLive writes what a live pane has shown beyond so many lines, and returns how many these are now. What still stands on the
// screen changes, so a follower gets it when it has scrolled off.
func (t *Tmux) showLive(ctx context.Context, f found, shown int, follow bool, write func(text string) error) (int, error) {
	if follow && shown > 0 && f.History <= shown {
		return shown, nil
	}
	var text bytes.Buffer
	if err := t.o.Server.Transcript(ctx, f.target(), &text, transcriptLimit); err != nil {
		return shown, err
	}
	lines := strings.SplitAfter(text.String(), "\n")
	until := len(lines)
	if follow {
		until = min(f.History, until)
	}
	if shown == 0 {
		if err := write("=== terminal, live: loopctl attach " + f.item.Ref() + " shows it as it changes\n"); err != nil {
			return shown, err
		}
	}
	if until <= shown {
		return shown, nil
	}
	return until, write(plain(strings.Join(lines[shown:until], "")))
}

// PruneTerminals removes transcripts that are older than age, and of the dead panes all but so many, the newest. It says how many
// of both. Panes that live or are not ours are left alone.
func (t *Tmux) PruneTerminals(ctx context.Context, keep int, age time.Duration) (int, error) {
	n, err := t.pruneTranscripts(age)
	panes, probeErr := t.o.Server.Probe(ctx)
	if probeErr != nil {
		return n, errors.Join(err, probeErr)
	}
	var dead []found
	for _, p := range t.all() {
		if at, ok := panes.Find(p.Launch); ok && at.Dead {
			dead = append(dead, found{pane: p, Pane: at, state: tmux.Dead})
		}
	}
	slices.SortFunc(dead, func(a, b found) int { return b.StartedAt.Compare(a.StartedAt) })
	for _, f := range dead[min(keep, len(dead)):] {
		if err := t.record(ctx, f); err != nil {
			return n, err
		}
		if err := t.o.Server.RemoveSession(ctx, f.target()); err != nil {
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
	f, err := t.find(ctx, s.WorkItem)
	if err != nil {
		return nil, "", err
	}
	if f.state != tmux.Live && f.state != tmux.Dead {
		return nil, "", fmt.Errorf("%[1]s has no terminal now, but gets one at its next event; loopctl logs %[1]s shows what it was: %[2]w", s.WorkItem, loop.ErrConflict)
	}
	switch {
	case !s.Open():
		v.Write, note = false, "the session is closed: this is its record, to read"
	case f.state == tmux.Dead:
		v.Write, note = false, "the agent has ended: this is what it showed; it resumes at its next event"
	}
	attach, err := t.o.Server.Attach(f.Session, v)
	if attach.Nested {
		note = strings.TrimPrefix(note+"; you are in another tmux: press its prefix twice to reach this one", "; ")
	}
	return attach.Argv, note, err
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

const (
	followInterval = time.Second
	partLimit      = 1 << 20 // bytes of a prompt or an answer in a transcript
)

// Transcript writes the runs of a session for people to read, the oldest first: prompt, answer, stderr, and what was denied.
// With follow it goes on with what follows until ctx ends. It returns write's error.
func (h *Headless) Transcript(ctx context.Context, s loop.Session, follow bool, write func(text string) error) error {
	t := transcript{h: h, session: s, write: write, shown: map[loop.RunID]progress{}}
	for {
		if err := t.show(follow); err != nil {
			return err
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followInterval):
		}
	}
}

// transcript is one reader's way through the runs of a session.
type transcript struct {
	h       *Headless
	session loop.Session
	write   func(string) error
	shown   map[loop.RunID]progress
}

// progress says how much of a run was shown.
type progress int

const (
	shownPrompt progress = iota + 1
	shownAll
)

func (t *transcript) show(follow bool) error {
	ids, err := t.h.runs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if t.shown[id] == shownAll {
			continue
		}
		if err := t.showRun(id, follow); err != nil {
			return err
		}
	}
	return nil
}

func (t *transcript) showRun(id loop.RunID, follow bool) error {
	f, err := openFolder(t.h.o.Dir, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // pruned meanwhile
	}
	if err != nil {
		return err
	}
	defer f.close()
	l, err := f.launch()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // being prepared, or never was
	}
	if err != nil || !t.covers(l) {
		t.shown[id] = shownAll
		return nil
	}
	if t.shown[id] == 0 {
		prompt, _ := f.root.ReadFile(promptFile)
		title := fmt.Sprintf("=== run %s, %s, %s", id, l.Harness, l.CreatedAt.Local().Format(time.DateTime))
		if err := t.write(title + part("prompt", string(prompt))); err != nil {
			return err
		}
		t.shown[id] = shownPrompt
	}
	text, over := t.h.ending(f, l)
	if !over && follow {
		return nil
	}
	t.shown[id] = shownAll
	return t.write(text)
}

// covers says whether a run is the session's: of its conversation, or of its item since it was made.
func (t *transcript) covers(l launch) bool {
	return strings.EqualFold(l.Item, t.session.WorkItem.Ref()) &&
		(l.SessionID != "" && l.SessionID == t.session.HarnessSessionID || !l.CreatedAt.Before(t.session.CreatedAt))
}

// ending is what a transcript shows of a run beside its prompt, and whether that is all there will be.
func (h *Headless) ending(f *folder, l launch) (text string, over bool) {
	c, err := f.claimed()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return part("not started yet", ""), false
	case c.Abandoned != "":
		return part("not started: "+c.Abandoned, ""), true
	}
	x, err := f.ended()
	if err != nil && proc.Alive(c.Identity) {
		return part("still running", ""), false
	}
	if err != nil {
		x = f.cutOff(c)
	}
	if x.StartError != "" {
		return part("not started: "+x.StartError, ""), true
	}
	return h.answer(f, l, x), true
}

func (h *Headless) answer(f *folder, l launch, x exit) string {
	seen, err := f.seen(x)
	if err != nil {
		return part("unreadable: "+loop.Plain(err), "")
	}
	agent, err := h.o.Agents(l.Harness)
	if err != nil {
		return part("answer, as it was printed", string(seen.Stdout)) + part("stderr", string(seen.Stderr))
	}
	out := agent.Read(seen)
	said := agent.Text(seen.Stdout)
	title := fmt.Sprintf("%s after %s", out.Kind, seen.Took.Round(time.Second))
	if said == "" {
		said = string(seen.Stdout)
		title += ": " + out.Detail
	}
	text := part(title, said)
	if len(seen.Stderr) > 0 {
		text += part("stderr", string(seen.Stderr))
	}
	if len(out.Denials) > 0 {
		text += part("denied: "+strings.Join(out.Denials, ", "), "")
	}
	return text
}

// part is one part of a transcript, safe to print in a terminal.
func part(title, text string) string {
	cut := ""
	if len(text) > partLimit {
		cut = fmt.Sprintf("\n[loop: %d more bytes are in the folder of the run]", len(text)-partLimit)
		text = text[:partLimit]
	}
	text = strings.TrimRight(plain(text), "\n") + cut
	if text != "" {
		text += "\n"
	}
	return "\n--- " + plain(title) + "\n" + text
}

// plain drops what would steer a terminal or hide text in it.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "�"))
}

// Prune removes the folders of runs that ended longer ago than age, and says how many. It leaves a run alone that lives.
func (h *Headless) Prune(ctx context.Context, age time.Duration) (int, error) {
	ids, err := h.runs()
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		info, err := os.Stat(filepath.Join(h.o.Dir, string(id)))
		if err != nil || time.Since(info.ModTime()) <= age || h.lives(id) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(h.o.Dir, string(id))); err != nil {
			errs = append(errs, fmt.Errorf("remove run %s: %w", id, err))
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}

func (h *Headless) lives(id loop.RunID) bool {
	f, err := openFolder(h.o.Dir, id)
	if err != nil {
		return false
	}
	defer f.close()
	c, err := f.claimed()
	return err == nil && proc.Alive(c.Identity)
}

// runs lists the runs that have a folder, the oldest first: their ids rise with time.
func (h *Headless) runs() ([]loop.RunID, error) {
	entries, err := os.ReadDir(h.o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var ids []loop.RunID
	for _, e := range entries {
		if e.IsDir() && runIDPattern.MatchString(e.Name()) {
			ids = append(ids, loop.RunID(e.Name()))
		}
	}
	return ids, nil
}

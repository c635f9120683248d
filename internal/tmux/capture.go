package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	sliceLines = 2000 // one longer answer would hold up every other session
	sliceTries = 5
)

// Screen returns what the launch's pane shows now, without colours, lines that were wrapped joined. The error is a *RefusedError
// when the pane carries another mark or is gone.
func (s *Server) Screen(ctx context.Context, t Target) (string, error) {
	_, text, err := s.capture(ctx, t, "0", "-")
	if err != nil {
		return "", fmt.Errorf("capture screen: %w", err)
	}
	return text, nil
}

// Transcript writes all that the launch's pane has shown and still keeps: the history, then the screen; of a program that uses the
// alternate screen both screens. At most limit bytes are kept; what is older is dropped, and a first line says so. Of a pane that
// does not print meanwhile the transcript is exact, but that a line may be broken where a slice of 2000 lines ends.
func (s *Server) Transcript(ctx context.Context, t Target, w io.Writer, limit int) error {
	view, screen, err := s.capture(ctx, t, "0", "-")
	if err != nil {
		return fmt.Errorf("capture transcript: %w", err)
	}
	texts := []string{screen} // newest first: history is lost at its old end
	if view.alternate {
		hidden, err := s.hiddenScreen(ctx, t)
		if err != nil {
			return fmt.Errorf("capture transcript: %w", err)
		}
		texts = append(texts, "[alternate screen]\n", hidden)
	}
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	for top := view.history; top > 0 && size <= limit; top -= sliceLines {
		text, err := s.history(ctx, t, view.history, max(0, top-sliceLines), top)
		if err != nil {
			return fmt.Errorf("capture transcript: %w", err)
		}
		size += len(text)
		texts = append(texts, text)
	}
	return writeNewest(w, texts, limit)
}

// history returns the lines from and up to, not with, until, counted from the oldest in a history of the given size. tmux counts
// from the screen, so when the pane has printed meanwhile the lines are asked for again.
func (s *Server) history(ctx context.Context, t Target, size, from, until int) (string, error) {
	now := size
	for try := 1; ; try++ {
		view, text, err := s.capture(ctx, t, strconv.Itoa(from-now), strconv.Itoa(until-1-now))
		if err != nil || view.history == now || try == sliceTries {
			return text, err
		}
		now = view.history
	}
}

// view is what a pane was when it was captured.
type view struct {
	history   int
	alternate bool
}

// capture returns lines of the pane, 0 being the first of the screen and - the last, with what the pane was at that moment.
func (s *Server) capture(ctx context.Context, t Target, first, last string) (view, string, error) {
	return s.captured(ctx, t, do("capture-pane", "-p", "-J", "-S").val(first).lit("-E").val(last).lit("-t").val(t.Pane))
}

// hiddenScreen is the screen under the alternate one.
func (s *Server) hiddenScreen(ctx context.Context, t Target) (string, error) {
	_, text, err := s.captured(ctx, t, do("capture-pane", "-p", "-J", "-q", "-a", "-t").val(t.Pane))
	return text, err
}

func (s *Server) captured(ctx context.Context, t Target, capture *script) (view, string, error) {
	if err := t.check(); err != nil {
		return view{}, "", err
	}
	c := do("display-message", "-p", "-t").val(t.Pane).lit("#{history_size}|#{alternate_on}|#{@loop_launch}")
	c.commands = append(c.commands, capture.commands...)
	c.err = capture.err
	out, err := s.query(ctx, c)
	if errors.Is(err, errAbsent) {
		return view{}, "", &RefusedError{Target: t, State: Absent}
	}
	if err != nil {
		return view{}, "", err
	}
	head, text, _ := strings.Cut(out, "\n")
	f := strings.SplitN(head, "|", 3)
	if len(f) != 3 {
		return view{}, "", unknown(head, errors.New("no description of a pane"))
	}
	if f[2] != t.Launch {
		return view{}, "", &RefusedError{Target: t, State: Foreign}
	}
	size, err := strconv.Atoi(f[0])
	if err != nil {
		return view{}, "", unknown(head, err)
	}
	return view{history: size, alternate: f[1] == "1"}, text, nil
}

// writeNewest writes what was collected newest first, in order, and of more than limit bytes the last whole lines.
func writeNewest(w io.Writer, texts []string, limit int) error {
	var all bytes.Buffer
	for _, text := range slices.Backward(texts) {
		all.WriteString(text)
	}
	kept := all.Bytes()
	if len(kept) > limit {
		kept = kept[len(kept)-limit:]
		kept = kept[bytes.IndexByte(kept, '\n')+1:]
		if _, err := fmt.Fprintf(w, "[older lines were dropped: only the last %d bytes are kept]\n", limit); err != nil {
			return fmt.Errorf("write transcript: %w", err)
		}
	}
	if _, err := w.Write(kept); err != nil {
		return fmt.Errorf("write transcript: %w", err)
	}
	return nil
}

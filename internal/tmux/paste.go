package tmux

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// maxPaste bounds one paste: a program that does not read makes the server keep it.
const maxPaste = 1 << 20

// dropTimeout is short because a server that hangs has most likely not loaded the buffer.
const dropTimeout = time.Second

// Paste puts text into the launch's pane as one bracketed paste, made safe by Clean. It leaves any mode that the pane is in. It
// returns nil when tmux has written the text to the program, which may not have read it yet; a *RefusedError when nothing was
// written, because the launch has ended, the pane is another's or its input is disabled; or an error of the class ErrUnknown.
func (s *Server) Paste(ctx context.Context, t Target, text string) error {
	return s.deliver(ctx, t, Clean(text), "-p")
}

// Submit puts one carriage return into the launch's pane. Whatever the program shows takes it as its answer, so look first. Its
// errors are those of Paste.
func (s *Server) Submit(ctx context.Context, t Target) error { return s.deliver(ctx, t, "\r") }

// deliver loads a buffer and pastes it in one script: of a client that ends before the server has read its text nothing is pasted.
func (s *Server) deliver(ctx context.Context, t Target, text string, how ...word) error {
	if text == "" || len(text) > maxPaste {
		return fmt.Errorf("paste %d bytes into pane %s, of at most %d: %w", len(text), t.Pane, maxPaste, loop.ErrInvalid)
	}
	buffer := newBuffer()
	yes := do("copy-mode", "-q", "-t").val(t.Pane).
		then("paste-buffer").lit(how...).lit("-d", "-b").val(buffer).lit("-t").val(t.Pane).
		then("display-message", "-p", "done")
	no := refuse(t).then("delete-buffer", "-b").val(buffer)
	out, err := s.call(ctx, 2*s.patience, text, do("load-buffer", "-b").val(buffer).lit("-").when(t, isOpen, yes, no))
	if err != nil && !errors.Is(err, loop.ErrInvalid) {
		s.dropBuffer(ctx, buffer)
	}
	if err := verdict(t, out, err); err != nil {
		return fmt.Errorf("paste: %w", err)
	}
	return nil
}

// Two deliveries with one buffer would lose or swap their texts.
func newBuffer() string {
	name := make([]byte, 8)
	_, _ = rand.Read(name) // it never fails
	return namePrefix + hex.EncodeToString(name)
}

var bufferPattern = regexp.MustCompile(`^loop-[0-9a-f]{16}$`)

// DropBuffers deletes the buffers that deliveries of an earlier process have left. Call it before the first delivery.
func (s *Server) DropBuffers(ctx context.Context) error {
	out, err := s.query(ctx, do("list-buffers", "-F", "#{buffer_name}"))
	if errors.Is(err, errAbsent) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list paste buffers: %w", err)
	}
	for name := range strings.FieldsSeq(out) {
		if bufferPattern.MatchString(name) {
			s.dropBuffer(ctx, name)
		}
	}
	return nil
}

// dropBuffer also works when ctx has ended: what a cancelled delivery loaded must go too.
func (s *Server) dropBuffer(ctx context.Context, name string) {
	_, err := s.once(context.WithoutCancel(ctx), dropTimeout, "", do("delete-buffer", "-b").val(name))
	if errors.Is(err, ErrUnknown) {
		s.log.Warn("paste buffer may be left", "err", err)
	}
}

package app

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
)

// logFormat is the format of the log that is in force now.
type logFormat struct{ json atomic.Bool }

func (f *logFormat) set(name string) { f.json.Store(name == "json") }

// logHandler writes each record in the format that is in force then.
type logHandler struct {
	format       *logFormat
	text, asJSON slog.Handler
}

func newLogHandler(w io.Writer, format *logFormat, level slog.Leveler) slog.Handler {
	w = &lockedWriter{w: w} // the two handlers know nothing of each other
	o := &slog.HandlerOptions{Level: level}
	return logHandler{format, slog.NewTextHandler(w, o), slog.NewJSONHandler(w, o)}
}

func (h logHandler) now() slog.Handler {
	if h.format.json.Load() {
		return h.asJSON
	}
	return h.text
}

func (h logHandler) Enabled(ctx context.Context, l slog.Level) bool { return h.text.Enabled(ctx, l) }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error { return h.now().Handle(ctx, r) }

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.format, h.text.WithAttrs(attrs), h.asJSON.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.format, h.text.WithGroup(name), h.asJSON.WithGroup(name)}
}

// lockedWriter writes one record at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

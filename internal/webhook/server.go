package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
)

// Limits of one connection and of all. The slowest honest sender is GitHub, which gives up after ten seconds.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = 30 * time.Second
	writeTimeout   = readTimeout + putTimeout + 10*time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	maxConnections = 128

	// drainTimeout bounds how long a stop waits for deliveries that are being stored.
	drainTimeout = 2 * time.Second
)

// Run serves lis until ctx ends, then answers what has begun, takes nothing new and returns nil. It closes lis. Connections
// beyond the limit wait for a free place; the timeouts make places free.
func (r *Receiver) Run(ctx context.Context, lis net.Listener) error {
	srv := &http.Server{
		Handler:           r,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := srv.Serve(netutil.LimitListener(lis, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve webhooks on %s: %w", lis.Addr(), err)
		}
		return nil
	})
	g.Go(func() error {
		<-gctx.Done()
		return r.drain(context.WithoutCancel(ctx), srv)
	})
	return g.Wait()
}

func (r *Receiver) drain(ctx context.Context, srv *http.Server) error {
	r.draining.Store(true)
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		r.log.Warn("webhook connections cut off at the end of the drain", "err", err)
		return srv.Close()
	}
	return nil
}

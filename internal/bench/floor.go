package main

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// floorRole is the first argument of the program that is the yardstick.
const floorRole = "floor"

// serveFloor is the least that a receiver can do: it reads the body, checks the signature and answers 202. It keeps nothing.
// Its address goes to stdout; it serves until ctx ends.
func serveFloor(ctx context.Context, secret []byte, stdout *os.File) error {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, max(0, r.ContentLength))
		if _, err := io.ReadFull(r.Body, body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if !hmac.Equal([]byte(githubtest.Sign(secret, body)), []byte(r.Header.Get("X-Hub-Signature-256"))) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if _, err := fmt.Fprintln(stdout, lis.Addr()); err != nil {
		return err
	}
	if err := srv.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loop-daemon/loop/internal/webhook"
)

// pipes is a listener in memory, so that deadlines run on a bubble's clock.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial returns a connection, or nil when the listener does not take one.
func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	synctest.Wait()
	select {
	case p.conns <- theirs:
		return ours
	default:
		return nil
	}
}

// start runs r and returns how to stop it.
func start(t *testing.T, r *webhook.Receiver, lis net.Listener) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, lis) }()
	stopped := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := stopped(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return stopped
}

// answerOn reads an answer to its end and returns its status; 0 when there is none.
func answerOn(conn net.Conn) int {
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0
	}
	return res.StatusCode
}

func head(body string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-github-event: issues\r\n"+
		"x-github-delivery: %s\r\nx-hub-signature-256: %s\r\ncontent-length: %d\r\n\r\n", webhook.Path, id, sign(body), length)
}

func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		sent   string
		status int // 0: the connection ends without an answer
		within time.Duration
	}{
		{"says nothing", "", 0, 15 * time.Second},
		{"does not end its header", "POST /gh-webhook HTTP/1.1\r\nHost: x\r\nX-", 400, 15 * time.Second},
		{"does not send its body", head(object, len(object)), 408, time.Minute},
		{"does not end its body", head(object, len(object)) + object[:9], 408, time.Minute},
		{"stays after its answer", head(object, len(object)) + object, 202, 5 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lis := newPipes()
				stop := start(t, receiver(t, options(&shelf{})), lis)
				conn := lis.dial()
				began := time.Now()
				go io.WriteString(conn, c.sent) //nolint:errcheck // it may be cut off
				if got := answerOn(conn); got != c.status {
					t.Errorf("status = %d, want %d", got, c.status)
				}
				if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Errorf("after the answer: %v, want the connection's end", err)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("held for %v, want at most %v", took, c.within)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lis := newPipes()
		stop := start(t, receiver(t, options(&shelf{})), lis)
		var open []net.Conn
		for {
			c := lis.dial()
			if c == nil {
				break
			}
			if open = append(open, c); len(open) > 1000 {
				t.Fatal("a thousand connections were taken")
			}
		}
		if len(open) < 64 {
			t.Errorf("%d connections were taken, want at least 64", len(open))
		}
		time.Sleep(time.Minute) // on the bubble's clock: the idle ones are cut off
		conn := lis.dial()
		if conn == nil {
			t.Fatal("no connection is taken after the idle ones timed out")
		}
		go io.WriteString(conn, head(object, len(object))+object) //nolint:errcheck // seen by the answer
		if got := answerOn(conn); got != http.StatusAccepted {
			t.Errorf("status = %d, want 202", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestManyLargeBodiesWaitTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lis := newPipes()
		stop := start(t, receiver(t, options(&shelf{})), lis)
		const size = 3 << 20
		statuses := make(chan int)
		for range 6 {
			conn := lis.dial()
			go io.WriteString(conn, head("", size)+strings.Repeat(" ", 2<<20)) //nolint:errcheck // never whole
			go func() { statuses <- answerOn(conn) }()
		}
		got := map[int]int{}
		for range 2 { // those that found no place answer first
			got[<-statuses]++
		}
		conn := lis.dial()
		go io.WriteString(conn, head(object, len(object))+object) //nolint:errcheck // seen by the answer
		if got := answerOn(conn); got != http.StatusAccepted {
			t.Errorf("a small delivery beside them: status = %d, want 202", got)
		}
		for range 4 {
			got[<-statuses]++
		}
		if got[503] != 2 || got[408] != 4 {
			t.Errorf("statuses = %v, want four bodies read until their time was up and two sent away", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return lis
}

// post sends a signed request over TCP and returns the status.
func post(t *testing.T, addr string, body io.Reader, change func(*http.Request)) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+webhook.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = signed(object).Header
	if change != nil {
		change(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// spaces is a body that never ends.
type spaces struct{ read int64 }

var blank = bytes.Repeat([]byte(" "), 1<<16)

func (s *spaces) Read(p []byte) (int, error) {
	n := copy(p, blank)
	s.read += int64(n)
	return n, nil
}

func dial(t *testing.T, lis net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestAnnouncedHugeBody(t *testing.T) {
	t.Parallel()
	lis := listen(t)
	start(t, receiver(t, options(&shelf{})), lis)
	conn := dial(t, lis)
	if _, err := io.WriteString(conn, head("", 1<<30)); err != nil {
		t.Fatal(err)
	}
	if got := answerOn(conn); got != http.StatusRequestEntityTooLarge {
		t.Errorf("status = %d, want 413 before any of the body", got)
	}
}

func TestEndlessBody(t *testing.T) { //nolint:paralleltest // it measures memory
	lis := listen(t)
	start(t, receiver(t, options(&shelf{})), lis)
	conn := dial(t, lis)
	r := signed(object)
	body := &spaces{}
	r.Body, r.ContentLength = io.NopCloser(io.LimitReader(body, 1<<30)), -1

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		r.Write(conn) //nolint:errcheck // it is to be cut off
	}()
	if got := answerOn(conn); got != http.StatusRequestEntityTooLarge {
		t.Errorf("status = %d, want 413", got)
	}
	conn.Close()
	<-sent
	runtime.ReadMemStats(&after)
	if body.read > 64<<20 {
		t.Errorf("%d bytes could be sent past a cap of %d", body.read, webhook.DefaultMaxBody)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 256<<20 {
		t.Errorf("%d bytes were allocated for it", grown)
	}
	if got := post(t, lis.Addr().String(), strings.NewReader(object), nil); got != http.StatusAccepted {
		t.Errorf("the next request: status = %d, want 202", got)
	}
}

func TestLargestBody(t *testing.T) {
	t.Parallel()
	o := options(&shelf{})
	o.MaxBody = func() int64 { return 3 << 20 }
	h := receiver(t, o)
	for size, want := range map[int]int{3 << 20: 202, 3<<20 + 1: 413} {
		body := `{"a":"` + strings.Repeat("x", size-8) + `"}`
		for _, length := range []int64{int64(size), -1} {
			r := signed(body)
			r.ContentLength = length
			if got := serve(h, r).Code; got != want {
				t.Errorf("body of %d, announced as %d: status = %d, want %d", size, length, got, want)
			}
		}
	}
}

func TestChunkedAndHugeHeaders(t *testing.T) {
	t.Parallel()
	lis := listen(t)
	start(t, receiver(t, options(&shelf{})), lis)
	addr := lis.Addr().String()
	if got := post(t, addr, io.NopCloser(strings.NewReader(object)), nil); got != http.StatusAccepted {
		t.Errorf("chunked: status = %d, want 202", got)
	}
	big := func(r *http.Request) { r.Header.Set("X-Big", strings.Repeat("x", 1<<20)) }
	if got := post(t, addr, strings.NewReader(object), big); got != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 1 MiB: status = %d, want 431", got)
	}
}

func TestStopAnswersWhatHasBegun(t *testing.T) {
	t.Parallel()
	writing, release := make(chan struct{}), make(chan struct{})
	s := &shelf{before: func(context.Context) { close(writing); <-release }}
	r := receiver(t, options(s))
	if got := serve(r, httpGet(webhook.HealthPath)).Code; got != http.StatusOK {
		t.Errorf("health = %d, want 200", got)
	}
	lis := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, lis) }()

	answer := make(chan int, 1)
	go func() { answer <- post(t, lis.Addr().String(), strings.NewReader(object), nil) }()
	<-writing
	cancel()
	for { // until the listener is closed, a connection is still taken
		conn, err := net.Dial("tcp", lis.Addr().String())
		if err != nil {
			break
		}
		conn.Close()
	}
	if got := serve(r, httpGet(webhook.HealthPath)).Code; got != http.StatusServiceUnavailable {
		t.Errorf("health = %d while stopping, want 503", got)
	}
	close(release)
	if got := <-answer; got != 202 {
		t.Errorf("the delivery that was being stored: status = %d, want 202", got)
	}
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	h := receiver(t, options(&shelf{}))
	r := httpGet(webhook.HealthPath)
	r.Method = http.MethodPost
	res := serve(h, r)
	if res.Code != http.StatusMethodNotAllowed || res.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status = %d, Allow = %q", res.Code, res.Header().Get("Allow"))
	}
	r.Method = http.MethodHead
	if got := serve(h, r).Code; got != http.StatusOK {
		t.Errorf("HEAD: status = %d, want 200", got)
	}
}

func TestListenerThatFails(t *testing.T) {
	t.Parallel()
	lis := listen(t)
	lis.Close()
	if err := receiver(t, options(&shelf{})).Run(t.Context(), lis); err == nil {
		t.Error("Run on a closed listener: no error")
	}
}

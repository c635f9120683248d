package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// harnessScript is the shortest agent: it says that it runs and answers at once. A shell starts faster than any agent does.
const harnessScript = `#!/bin/sh
echo started >%q
while [ $# -gt 0 ]; do case $1 in --resume|--session-id) id=$2;; esac; shift; done
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"ok","session_id":"'"$id"'","permission_denials":[]}'
`

// harnessStart measures how long after the 202 for a comment the process of the harness runs. The script tells it through a
// pipe, so that its own start is in the figure; that of the same script alone stands beside it.
func (b *bench) harnessStart(ctx context.Context) (_ []row, err error) {
	p, err := newPlace(b.bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	fifo, err := p.installHarness()
	if err != nil {
		return nil, err
	}
	defer func() { _ = fifo.Close() }()
	if _, err := p.start(ctx); err != nil {
		return nil, err
	}
	items := min(10, b.starts) // so that none of them has too many runs in an hour
	for i := range items {
		if _, err := p.loopctl(ctx, registration(i+1)...); err != nil {
			return nil, err
		}
	}
	started := bufio.NewReader(fifo)
	var ours, alone []time.Duration
	for i := range b.starts {
		answered, err := p.comment(ctx, i%items+1, int64(i+1))
		if err != nil {
			return nil, err
		}
		if err := awaitLine(fifo, started); err != nil {
			return nil, fmt.Errorf("the harness was not started: %w\n%s", err, p.loopd.said())
		}
		ours = append(ours, time.Since(answered))
		begun := time.Now()
		if _, err := timed(ctx, proc.Cmd{Path: p.in("harness"), Env: p.env}); err != nil {
			return nil, err
		}
		alone = append(alone, time.Since(begun))
		if err := awaitLine(fifo, started); err != nil {
			return nil, err
		}
		if err := p.quiet(ctx); err != nil {
			return nil, err
		}
	}
	const aim = 10 * time.Millisecond
	return []row{{
		what: "from the 202 to the harness's process, idle daemon", loop: "p50 " + ms(median(ours)),
		beside: "the same process alone, to its end: " + ms(median(alone)),
		ratio:  fmt.Sprintf("%.1f", float64(median(ours))/float64(median(alone))), aim: "p50 < " + ms(aim), met: said(median(ours) < aim),
	}}, nil
}

// installHarness writes the script, and opens the pipe that it writes to.
func (p *place) installHarness() (*os.File, error) {
	name := p.in("started")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(p.in("harness"), fmt.Appendf(nil, harnessScript, name), 0o700); err != nil { //nolint:gosec // a program
		return nil, err
	}
	return os.OpenFile(name, os.O_RDWR, 0) // for writing too, so that it never ends
}

func awaitLine(from *os.File, in *bufio.Reader) error {
	if err := from.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		return err
	}
	_, err := in.ReadString('\n')
	return err
}

// registration is the command that links a conversation to an item.
func registration(item int) []string {
	return []string{
		"sessions", "register", "--work-item", reference(item),
		"--harness", "claude", "--harness-session-id", uuid.NewString(), "--quiet",
	}
}

// comment posts one by a person who is listed, and returns when the answer was there.
func (p *place) comment(ctx context.Context, item int, id int64) (answered time.Time, err error) {
	body := githubtest.IssueComment("created", "ana", githubtest.Item{Number: item}, githubtest.Comment{ID: id, Body: "please have a look"})
	one := signed{body: [2][]byte{body}, signature: githubtest.Sign([]byte(p.secret), body)}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return time.Time{}, err
	}
	request := net.Buffers{header(p.addr, one, uuid.New()), body}
	if _, err := request.WriteTo(conn); err != nil {
		return time.Time{}, err
	}
	if err := readAccepted(bufio.NewReader(conn)); err != nil && !errors.Is(err, io.EOF) {
		return time.Time{}, err
	}
	return time.Now(), nil
}

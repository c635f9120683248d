package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// answerLimit bounds the waiting for one answer; GitHub itself waits ten seconds.
const answerLimit = 10 * time.Second

// sample is what a load saw.
type sample struct {
	latencies []time.Duration // of the deliveries that were answered with 202, sorted
	failed    int             // connections that broke, and answers that were no 202
	took      time.Duration
}

func (s sample) rate() float64 { return float64(len(s.latencies)) / s.took.Seconds() }

// quantile returns the latency that a share of the deliveries did not exceed.
func (s sample) quantile(share float64) time.Duration {
	if len(s.latencies) == 0 {
		return 0
	}
	return s.latencies[min(len(s.latencies)-1, int(share*float64(len(s.latencies))))]
}

// load posts deliveries over so many connections, on each one after the other, for as long as it is told. It speaks HTTP
// itself and sends pieces that are there already, because it shares the machine with what it measures.
func load(ctx context.Context, addr string, conns int, from *stock, d time.Duration) (sample, error) {
	var taken atomic.Int64
	var g errgroup.Group
	parts := make([]sample, conns)
	begun := time.Now()
	for i := range conns {
		g.Go(func() error {
			c := poster{addr: addr, end: begun.Add(d), taken: &taken, from: from.signed, random: rand.NewChaCha8([32]byte{byte(i), byte(begun.UnixNano())})}
			defer c.hangUp()
			for ctx.Err() == nil && time.Now().Before(c.end) {
				c.post(ctx, &parts[i])
			}
			return context.Cause(ctx)
		})
	}
	err := g.Wait()
	all := sample{took: time.Since(begun)}
	for _, p := range parts {
		all.latencies = append(all.latencies, p.latencies...)
		all.failed += p.failed
	}
	slices.Sort(all.latencies)
	if err == nil && len(all.latencies) == 0 {
		err = fmt.Errorf("none of the deliveries to %s was taken", addr)
	}
	return all, err
}

// poster is one connection.
type poster struct {
	addr   string
	end    time.Time
	taken  *atomic.Int64 // how many of from are taken, by all connections together
	from   []signed
	random io.Reader

	conn net.Conn // nil: none yet, or the last one broke
	in   *bufio.Reader
}

// post sends one delivery and writes down how that went.
func (p *poster) post(ctx context.Context, into *sample) {
	one := p.from[int(p.taken.Add(1)-1)%len(p.from)]
	begun := time.Now()
	if err := p.exchange(ctx, one); err != nil {
		into.failed++
		p.hangUp()
		return
	}
	into.latencies = append(into.latencies, time.Since(begun))
}

func (p *poster) exchange(ctx context.Context, one signed) error {
	if p.conn == nil {
		var err error
		if p.conn, err = new(net.Dialer).DialContext(ctx, "tcp", p.addr); err != nil {
			return err
		}
		p.in = bufio.NewReader(p.conn)
	}
	if err := p.conn.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return err
	}
	id, err := uuid.NewRandomFromReader(p.random)
	if err != nil {
		return err
	}
	request := net.Buffers{header(p.addr, one, id), one.body[0], []byte(one.number), one.body[1]}
	if _, err := request.WriteTo(p.conn); err != nil {
		return err
	}
	return readAccepted(p.in)
}

func (p *poster) hangUp() {
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
}

func header(addr string, one signed, id uuid.UUID) []byte {
	b := make([]byte, 0, 512)
	b = append(b, "POST /gh-webhook HTTP/1.1\r\nHost: "...)
	b = append(b, addr...)
	b = append(b, "\r\nUser-Agent: GitHub-Hookshot/0000000\r\nAccept: */*\r\nContent-Type: application/json\r\nX-GitHub-Event: issue_comment\r\n"...)
	b = append(b, "X-GitHub-Hook-ID: 1\r\nX-GitHub-Delivery: "...)
	b = append(b, id.String()...)
	b = append(b, "\r\nX-Hub-Signature-256: "...)
	b = append(b, one.signature...)
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(one.size()), 10)
	return append(b, "\r\n\r\n"...)
}

// readAccepted reads one answer whole and wants it to be 202.
func readAccepted(in *bufio.Reader) error {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	accepted := bytes.HasPrefix(status, []byte("HTTP/1.1 202 "))
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= len("\r\n") {
			break
		}
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	if _, err := in.Discard(length); err != nil {
		return err
	}
	if !accepted {
		return errors.New("the answer is not 202")
	}
	return nil
}

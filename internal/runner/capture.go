package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// endKept is how much of the end of a stream is kept beside its beginning: an agent's answer comes last.
const endKept = 1 << 20

// capture keeps what a program writes to one of its streams in a file: the beginning up to a limit, and the end. The program is
// never held up: what is over the limit is read and dropped.
type capture struct {
	in    *os.File      // the program's end of the pipe, until flow
	wrote chan struct{} // holds a token when something was written since it was last looked at
	pipe  *os.File
	file  *os.File
	flows sync.WaitGroup

	mu   sync.Mutex
	room int64  // guarded by mu: what the file still takes
	over int64  // guarded by mu: what came after that
	last []byte // guarded by mu: the end of it
	err  error  // guarded by mu: of the file, after which all is over the limit
}

func newCapture(root *os.Root, name string, limit int64) (*capture, error) {
	file, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &capture{in: w, pipe: r, file: file, room: limit, wrote: make(chan struct{}, 1)}, nil
}

// flow copies until the last writer closes the stream. The program has its end by now, or will never have it.
func (c *capture) flow() {
	_ = c.in.Close()
	c.flows.Go(func() { _, _ = io.Copy(c, c.pipe) })
}

// Write takes everything.
func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int(min(c.room, int64(len(b))))
	if n > 0 {
		if _, c.err = c.file.Write(b[:n]); c.err != nil {
			n, c.room = 0, 0
		}
		c.room -= int64(n)
	}
	c.over += int64(len(b) - n)
	c.last = append(c.last, b[n:]...)
	if len(c.last) > 2*endKept { // so that each byte is moved once, not at every write
		c.last = append(c.last[:0], c.end()...)
	}
	select {
	case c.wrote <- struct{}{}:
	default:
	}
	return len(b), nil
}

// end is the end of what is over the limit. The caller holds mu.
func (c *capture) end() []byte { return c.last[max(0, len(c.last)-endKept):] }

// recent returns what an answer would be found in: all, or the end where that is too much.
func (c *capture) recent() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over > 0 {
		return bytes.Clone(c.end())
	}
	size, err := c.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	b := make([]byte, size)
	n, _ := c.file.ReadAt(b, 0)
	return b[:n]
}

// cut says whether something was dropped.
func (c *capture) cut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over > int64(len(c.end())) || c.err != nil
}

// finish takes what is still in the pipe, for so long, and puts the file on disk.
func (c *capture) finish(limit time.Duration) error {
	_ = c.pipe.SetReadDeadline(time.Now().Add(limit))
	c.flows.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if dropped := c.over - int64(len(c.end())); dropped > 0 {
		_, err := fmt.Fprintf(c.file, "\n[loop: %d bytes were left out here]\n", dropped)
		c.err = errors.Join(c.err, err)
	}
	_, err := c.file.Write(c.end())
	return errors.Join(c.err, err, c.file.Sync())
}

func (c *capture) close() {
	_ = c.in.Close() // again, after flow: does nothing
	_ = c.pipe.Close()
	c.flows.Wait()
	_ = c.file.Close()
}

package agenttest

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// tty is the terminal that a program is in.
type tty struct {
	file   *os.File
	before unix.Termios
}

// openTTY returns the terminal that stdin is; ok is false when it is none.
func openTTY(stdin io.Reader) (t tty, ok bool) {
	file, ok := stdin.(*os.File)
	if !ok {
		return tty{}, false
	}
	before, err := unix.IoctlGetTermios(int(file.Fd()), getTermios)
	if err != nil {
		return tty{}, false
	}
	return tty{file, *before}, true
}

// raw makes each byte come as it is typed, unchanged and unseen.
func (t tty) raw() error {
	raw := t.before
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	return t.set(raw)
}

// restore undoes raw.
func (t tty) restore() error { return t.set(t.before) }

func (t tty) set(to unix.Termios) error {
	if err := unix.IoctlSetTermios(int(t.file.Fd()), setTermios, &to); err != nil {
		return fmt.Errorf("set the terminal: %w", err)
	}
	return nil
}

// size returns how many characters and lines there are.
func (t tty) size() (width, height int) {
	size, err := unix.IoctlGetWinsize(int(t.file.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

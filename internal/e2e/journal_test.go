package e2e_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Given a journal that is no journal any more, that is broken in its middle, or whose main file is gone,
// When loopd starts,
// Then it refuses with what to do and exit code 1, and every file of the journal stays as it is, byte for byte.
func TestADamagedJournalIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		crashed bool // before it was damaged
		spoil   func(w *world, file string)
		says    string
	}{
		{"header", true, func(w *world, file string) { w.scribble(file, 0, 100) }, "it is never deleted for you"},
		{"middle", true, func(w *world, file string) { w.scribble(file, 8192, 16384) }, "it is never deleted for you"},
		{"middle, after a stop in order", false, func(w *world, file string) { w.scribble(file, 40960, 16384) }, "it is never deleted for you"},
		{"cut off", true, func(w *world, file string) {
			if err := os.Truncate(file, 10_000); err != nil {
				w.t.Fatal(err)
			}
		}, "it is never deleted for you"},
		{"main file gone", true, func(w *world, file string) {
			if err := os.Remove(file); err != nil {
				w.t.Fatal(err)
			}
		}, "put it back"},
		{"main file empty", true, func(w *world, file string) { w.put(file, "") }, "put it back"},
	}
	w := newWorld(t, "") // its journal is broken again and again, one way after the other
	w.start()
	for range 5 {
		w.comment(15, noise(50_000))
	}
	w.allDropped(5)
	w.stop() // in order, so that all of it is in the main file
	file := filepath.Join(w.state, "journal.db")
	stopped := w.journal(file)
	w.start()
	w.comment(15, "in the log that a crash leaves")
	w.allDropped(6)
	w.loopd.kill()
	crashed := w.journal(file)
	if len(stopped[file]) < 50_000 || len(crashed[file+"-wal"]) == 0 {
		t.Fatalf("the journal has %d bytes and its log %d: too few to be broken", len(stopped[file]), len(crashed[file+"-wal"]))
	}
	for _, c := range cases {
		sound := stopped
		if c.crashed {
			sound = crashed
		}
		w.restore(file, sound)
		c.spoil(w, file)
		before := w.journal(file)
		d := w.launch()
		code := w.code(d)
		last := lastLine(d)
		if code != 1 || !strings.HasPrefix(last, "loopd: ") || !strings.Contains(last, file) || !strings.Contains(last, c.says) {
			t.Errorf("%s: exit %d, and the last words:\n%s\nwant 1, the file and %q", c.name, code, last, c.says)
		}
		after := w.journal(file)
		for _, name := range []string{file, file + "-wal"} {
			if !bytes.Equal(before[name], after[name]) {
				t.Errorf("%s: %s was changed, from %d to %d bytes", c.name, name, len(before[name]), len(after[name]))
			}
		}
	}
	w.restore(file, crashed)
	w.start()
	w.allDropped(6)
}

// Given a journal that takes long to read, stopped in order and broken in its middle afterwards,
// When loopd starts,
// Then it may take deliveries, but it finds the damage by itself, and ends with what to do and exit code 1.
func TestDamageInALargeJournalEndsLoopd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	for range 4 {
		w.comment(15, noise(20<<20)) // of which half is left
	}
	w.allDropped(4)
	w.stop()
	file := filepath.Join(w.state, "journal.db")
	w.scribble(file, 24<<20, 4<<20)
	d := w.launch()
	code := w.code(d)
	if last := lastLine(d); code != 1 || !strings.HasPrefix(last, "loopd: ") || !strings.Contains(last, "it is never deleted for you") {
		t.Errorf("exit %d, and the last words:\n%s\nwant 1, and what to do", code, last)
	}
}

// noise is a text that no compression makes shorter than half.
func noise(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// scribble writes noise over a part of a file.
func (w *world) scribble(file string, at, n int64) {
	w.t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte(noise(int(n))), at)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// journal reads the files of the journal that are there.
func (w *world) journal(file string) map[string][]byte {
	w.t.Helper()
	found := map[string][]byte{}
	for _, name := range []string{file, file + "-wal"} {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		found[name] = text
	}
	return found
}

// restore puts the files of the journal back.
func (w *world) restore(file string, files map[string][]byte) {
	w.t.Helper()
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		_ = os.Remove(name)
	}
	for name, text := range files {
		w.put(name, string(text))
	}
}

// lastLine is the last that a loopd which has ended said.
func lastLine(d *daemon) string {
	text := strings.TrimSpace(d.log.String())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Given a journal that another process keeps to itself, or that a newer loopd has written,
// When loopd starts,
// Then it refuses with what to do and exit code 1; and when the journal is free it starts.
func TestAJournalThatIsLockedIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.stop()
	release := w.keepJournal()
	d := w.launch()
	if code := w.code(d); code != 1 || !strings.Contains(lastLine(d), "locked by another process: end the program that has it open") {
		t.Errorf("exit %d, and the last words:\n%s", code, lastLine(d))
	}
	release()
	w.start()
}

// Given a state folder that cannot be written, or a journal that is no file,
// When loopd starts,
// Then it refuses with the name of what is in the way and exit code 1.
func TestAStateFolderThatIsInTheWay(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		make func(w *world) error
		says string
	}{
		{"a file", func(w *world) error { return os.WriteFile(w.state, nil, 0o600) }, "state"},
		{"open to others", func(w *world) error { return errors.Join(os.Mkdir(w.state, 0o700), os.Chmod(w.state, 0o755)) }, "chmod 700"},
		{"the journal is a folder", func(w *world) error { return os.MkdirAll(filepath.Join(w.state, "journal.db"), 0o700) }, "journal.db"},
		{"the registry is a file", func(w *world) error {
			return errors.Join(os.Mkdir(w.state, 0o700), os.WriteFile(filepath.Join(w.state, "sessions"), nil, 0o600))
		}, "sessions"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			if err := c.make(w); err != nil {
				t.Fatal(err)
			}
			d := w.launch()
			if code := w.code(d); code != 1 || !strings.Contains(lastLine(d), c.says) {
				t.Errorf("exit %d, and the last words:\n%s", code, lastLine(d))
			}
		})
	}
}

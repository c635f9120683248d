package outbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/outbox"
)

// snapshot copies a journal as a crash of the machine would leave it.
func snapshot(t testing.TB, from, to string) {
	t.Helper()
	files, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, f.Name()), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestACrashNeverPostsACommentTwice ends an outbox at any moment of any sequence of letters and goes on with what was on disk then.
func TestACrashNeverPostsACommentTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]string{"comment", "reaction"}), 1, 4).Draw(rt, "letters")
		moment := rapid.IntRange(0, 2*len(letters)).Draw(rt, "moment") // before and after each is there, and when all is done
		before, after := t.TempDir(), t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			first := &hub{}
			now := 0
			var there []string // what is on GitHub at the crash
			crash := func() error {
				if now == moment {
					snapshot(t, before, after)
					there = slices.Clone(first.posted)
				}
				now++
				return nil
			}
			first.fail = func(outbox.Letter) error { return crash() }
			first.lose = first.fail
			d := newDesk(t, before, first)
			for i, kind := range letters {
				l := announcement(fmt.Sprint(kind, i))
				if kind == "reaction" {
					l = reaction(l.Key)
				}
				d.put(l)
			}
			stop := d.run()
			time.Sleep(time.Minute)
			synctest.Wait()
			_ = crash()
			stop()

			second := &hub{}
			d = newDesk(t, after, second)
			stop = d.run()
			time.Sleep(time.Minute)
			synctest.Wait()
			stop()
			for i, kind := range letters {
				key := fmt.Sprint(kind, i)
				n := count(there, key) + count(second.posted, key)
				cut := moment == 2*i // it was about to be sent
				switch {
				case kind == "comment" && n > 1:
					rt.Errorf("%s is posted %d times after a crash at %d", key, n, moment)
				case n == 0 && !(cut && kind == "comment"):
					rt.Errorf("%s is missing after a crash at %d", key, moment)
				}
			}
		})
	})
}

func count(keys []string, key string) (n int) {
	for _, k := range keys {
		if k == key {
			n++
		}
	}
	return n
}

package e2e_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// Given a session at work, and a comment behind the one it works on,
// When the disk of the state folder is full, and when loopd may write no more to its files,
// Then deliveries are answered with 503 and not kept, loopd goes on and says what is wrong; and once there is room, the retries of
// what was refused are taken, what was taken before is done, all of it once.
func TestADiskThatIsFullForAWhile(t *testing.T) {
	t.Parallel()
	for name, disk := range map[string]func(w *world) (fill, free func()){"disk": smallDisk, "quota": quota} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			fill, free := disk(w)
			w.start()
			w.register("acme/shop#15", conversation)
			first := w.comment(15, "[[claude delay=3000]]")
			w.await("the run", func() bool { return len(w.runs()) == 1 })
			second := w.comment(15, "behind it")
			w.await("the second to be queued", func() bool { return w.delivery(second).State == "queued" })

			fill()
			refused := map[string][]byte{}
			w.await("a delivery to be refused", func() bool {
				id, body := uuid.NewString(), commentBody(15, noise(20_000))
				a := w.postAs(id, "issue_comment", body)
				if a.status == http.StatusServiceUnavailable {
					refused[id] = body
				} else if a.status != http.StatusAccepted {
					t.Fatalf("answered %d %s", a.status, a.body)
				}
				return len(refused) > 0
			})
			w.await("the log to say what is wrong and what to do", func() bool {
				return strings.Contains(w.loopd.log.String(), "not stored") && strings.Contains(w.loopd.log.String(), "make room")
			})
			if s := w.status(); s.PID != w.loopd.cmd.Process.Pid {
				t.Errorf("status is answered by %d", s.PID)
			}
			if a := w.get("/healthz"); a.status != http.StatusOK {
				t.Errorf("the health is %d %s", a.status, a.body)
			}
			w.await("the run to end", func() bool { return len(w.processes()) == 0 })

			free()
			for id, body := range refused {
				w.await("the retry to be taken", func() bool { return w.postAs(id, "issue_comment", body).status == http.StatusAccepted })
				w.ends(id, "done", "")
			}
			w.ends(first, "done", "")
			w.ends(second, "done", "")
			w.await("all to be done", func() bool {
				n := w.status().Deliveries
				return n["received"]+n["queued"]+n["waiting"]+n["running"] == 0
			})
			if n := w.status().Deliveries; n["failed"]+n["dropped"] != 0 {
				t.Errorf("deliveries %v, want all done", n)
			}
			s := w.session("github-acme-shop-15")
			for _, id := range []string{first, second} {
				if !slices.Contains(s.RecentDeliveries, id) {
					t.Errorf("the session file does not list %s", id)
				}
			}
		})
	}
}

// smallDisk makes the state folder a disk of its own with a few megabytes, which root can.
func smallDisk(w *world) (fill, free func()) {
	w.t.Helper()
	if err := os.Mkdir(w.state, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := unix.Mount("none", w.state, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		w.t.Skipf("only root can make a small disk: %v", err)
	}
	w.t.Cleanup(func() { _ = unix.Unmount(w.state, unix.MNT_DETACH) })
	ballast := filepath.Join(w.state, "ballast")
	return func() {
			f, err := os.Create(ballast)
			if err != nil {
				w.t.Fatal(err)
			}
			for n := 1 << 16; n > 0; n /= 2 { // to the last byte
				for err = nil; err == nil; _, err = f.Write(make([]byte, n)) {
				}
				if !errors.Is(err, syscall.ENOSPC) {
					w.t.Fatal(err)
				}
			}
			_ = f.Close()
		}, func() {
			if err := os.Remove(ballast); err != nil {
				w.t.Fatal(err)
			}
		}
}

// quota forbids loopd to make its files any longer, as a limit of the system does.
func quota(w *world) (fill, free func()) {
	w.t.Helper()
	set := func(bytes uint64) {
		limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
		if err := unix.Prlimit(w.loopd.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	return func() { set(100 << 10) }, func() { set(unix.RLIM_INFINITY) }
}

// Given a disk without any room,
// When loopd starts on it for the first time,
// Then it refuses with what to do and exit code 1, and starts once there is room.
func TestAStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	fill, free := smallDisk(w)
	fill()
	d := w.launch()
	if code := w.code(d); code != 1 || !strings.Contains(lastLine(d), "no space left on device") {
		t.Errorf("exit %d, and the last words:\n%s", code, d.log)
	}
	free()
	w.start()
	w.stop()
	fill()
	d = w.launch()
	if code := w.code(d); code != 1 || !strings.Contains(lastLine(d), "make room on its disk") {
		t.Errorf("with a journal that is there: exit %d, and the last words:\n%s", code, d.log)
	}
	free()
	w.start()
}

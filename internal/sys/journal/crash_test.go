package journal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/sys/journal"
)

const crashPath = "JOURNAL_TEST_CRASH_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		os.Exit(writeUntilKilled(path))
	}
	os.Exit(m.Run())
}

// writeUntilKilled prints each note once it is acknowledged.
func writeUntilKilled(path string) int {
	ctx := context.Background()
	db, err := journal.Open(ctx, path, notes)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var out sync.Mutex
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ; i++ {
				text := fmt.Sprintf("%d.%d.%d", os.Getpid(), w, i)
				if err := db.Write(ctx, insert(text+strings.Repeat(" ", 5000))); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				out.Lock()
				fmt.Println(text) // the acknowledgement that the test reads
				out.Unlock()
			}
		})
	}
	writers.Wait()
	return 1
}

func TestKillUnderLoadLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	var acknowledged []string
	for range 3 {
		acknowledged = append(acknowledged, killAfter(t, path, 200)...)
	}
	db := open(t, path, notes) // reads the whole file through
	got := texts(t, db)
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	slices.Sort(got)
	for _, text := range acknowledged {
		if _, found := slices.BinarySearch(got, text); !found {
			t.Errorf("note %s was acknowledged and is gone", text)
		}
	}
	if len(acknowledged) < 3*200 || len(got) < len(acknowledged) {
		t.Errorf("%d notes acknowledged, %d found", len(acknowledged), len(got))
	}
}

// killAfter runs a process that writes, kills it after n acknowledgements and returns all that it printed.
func killAfter(t *testing.T, path string, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0]) // the test binary itself, to be killed
	cmd.Env = append(os.Environ(), crashPath+"="+path)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scan := bufio.NewScanner(stdout); scan.Scan(); {
		if lines = append(lines, scan.Text()); len(lines) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Errorf("kill: %v", err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the writing process ended with %v, want it killed", err)
	}
	return lines
}

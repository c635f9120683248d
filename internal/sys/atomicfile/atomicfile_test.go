package atomicfile_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/sys/atomicfile"
)

func TestWriteMakesAndReplaces(t *testing.T) {
	t.Parallel()
	dir, root := folder(t)
	if err := root.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"first", "", "a longer second one"} {
		for _, name := range []string{"a.json", "sub/b.json"} {
			if err := atomicfile.Write(root, name, []byte(content), 0o600); err != nil {
				t.Fatalf("Write(%q, %q): %v", name, content, err)
			}
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || string(got) != content {
				t.Errorf("after Write(%q, %q) the file holds %q, %v", name, content, got, err)
			}
		}
	}
	if diff := cmp.Diff([]string{"a.json", "sub", "sub/b.json"}, tree(t, dir)); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(dir, "a.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v; want 0600", info.Mode(), err)
	}
}

func TestWriteRefusesWhatIsNoRegularFile(t *testing.T) {
	t.Parallel()
	dir, root := folder(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for _, err := range []error{
		os.WriteFile(elsewhere, []byte("kept"), 0o600),
		os.Symlink(elsewhere, filepath.Join(dir, "link")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	for _, name := range []string{"link", "dangling", "folder", "missing/file", "../outside"} {
		if err := atomicfile.Write(root, name, []byte("x"), 0o600); err == nil {
			t.Errorf("Write(%q) was allowed", name)
		}
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("refused writes changed the folder (-before +after):\n%s", diff)
	}
	if got, err := os.ReadFile(elsewhere); err != nil || string(got) != "kept" {
		t.Errorf("the link's target holds %q, %v; want it untouched", got, err)
	}
}

func TestReadersNeverSeeAPart(t *testing.T) {
	t.Parallel()
	dir, root := folder(t)
	content := func(c byte) []byte { return bytes.Repeat([]byte{c}, 64<<10) }
	if err := atomicfile.Write(root, "f", content('a'), 0o600); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, c := range []byte("bcd") {
		writers.Go(func() {
			for range 20 {
				if err := atomicfile.Write(root, "f", content(c), 0o600); err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	for range 200 {
		got, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 64<<10 || !bytes.Equal(got, content(got[0])) {
			t.Fatalf("read %d bytes, not all the same", len(got))
		}
	}
	writers.Wait()
	if diff := cmp.Diff([]string{"f"}, tree(t, dir)); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
}

func TestIsTempKnowsLeftoversFromData(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".a.json.ABCDEF.tmp":     true,
		"sub/.a.json.ABCDEF.tmp": true,
		"a.json":                 false,
		".a.json":                false,
		"a.tmp":                  false,
	} {
		if got := atomicfile.IsTemp(name); got != want {
			t.Errorf("IsTemp(%q) = %v, want %v", name, got, want)
		}
	}
}

// The failure is provoked by a name that is long enough for the file but too long for the temporary one.
func TestFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, root := folder(t)
	name := strings.Repeat("n", 250)
	if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.Write(root, name, []byte("new"), 0o600)
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("Write = %v, want an error that names the file", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "old" {
		t.Errorf("the file holds %q, %v; want the old content", got, err)
	}
	if diff := cmp.Diff([]string{name}, tree(t, dir)); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
}

func folder(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Errorf("close root: %v", err)
		}
	})
	return dir, root
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("list %s: %w", dir, err))
	}
	return names
}

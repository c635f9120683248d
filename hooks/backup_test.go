package hooks_test

import (
	"path/filepath"
	"testing"

	"github.com/loop-daemon/loop/hooks"
)

// TestBackupsOfOthersStay holds that a file that lies where the backup would is kept, and only what is a copy is overwritten and
// removed.
func TestBackupsOfOthersStay(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "settings.json")
	const before, others, changed = `{"model": "opus"}`, `{"model": "sonnet"}`, `{"model": "haiku"}`
	write(t, name, before, 0o600)
	write(t, name+".before-loop", others, 0o600)
	f := fragment(t, "claude", bin, false)
	install(t, f, name, hooks.Change{File: name, Changed: true, Backup: name + ".before-loop.1"})
	install(t, fragment(t, "claude", bin, true), name, hooks.Change{File: name, Changed: true, Backup: name + ".before-loop.1"})
	uninstall(t, name, hooks.Change{File: name, Changed: true})
	if got := read(t, name+".before-loop"); got != others {
		t.Errorf("what somebody else kept is now %q", got)
	}
	if files, err := filepath.Glob(name + "*"); len(files) != 2 {
		t.Errorf("beside it lie %v, %v; want the other file alone", files, err)
	}

	install(t, f, name, hooks.Change{File: name, Changed: true, Backup: name + ".before-loop.1"})
	write(t, name, changed, 0o600)
	install(t, f, name, hooks.Change{File: name, Changed: true, Backup: name + ".before-loop.2"})
	if got := read(t, name+".before-loop.1"); got != before {
		t.Errorf("the backup of before the change is now %q", got)
	}
}

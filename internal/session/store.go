// Package session is the registry: which session works on which work item. Each session is a file of readable JSON in one
// folder, named after its item; those that gave way to a new one are in the folder closed below it.
//
// A change is on disk when the call that makes it returns, whole or not at all, and changes are made one at a time, so that
// none is lost. Reads are answered from memory and wait for no disk. A file that cannot be read is named once and left as
// it is: nothing is written over it, and the others work. Files that are not named as ours are not looked at.
//
// Beside the registry it keeps in memory, as Live, what hooks tell of the conversations that are live now.
package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
)

const closedDir = "closed"

// Names of our files: an item's slug, and behind it in the folder closed when the session was made.
var (
	currentName = regexp.MustCompile(`^github-[a-z0-9_-]+-[0-9]+(-h[0-9a-f]{8})?\.json$`)
	closedName  = regexp.MustCompile(`^github-[a-z0-9_-]+-[0-9]{8}T[0-9]{6}\.[0-9]{9}Z\.json$`)
)

const nameTime = "20060102T150405.000000000Z"

// Store is the registry in one folder. It is safe for concurrent use. One process at a time may write to the folder.
type Store struct {
	dir    string
	root   *os.Root
	logger *slog.Logger

	writing sync.Mutex // held while a file is changed

	mu       sync.RWMutex            // held for moments
	sessions map[string]loop.Session // guarded by mu; by the file's path below dir
	problems map[string]error        // guarded by mu; likewise, of files that cannot be read
}

// Open reads the sessions in a folder, which is made if need be. What cannot be read is named in the logger and by Problems.
func Open(dir string, logger *slog.Logger) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, closedDir), 0o700); err != nil {
		return nil, fmt.Errorf("open the registry: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the registry: %w", err)
	}
	s := &Store{
		dir: dir, root: root, logger: logger.With("component", "session"),
		sessions: map[string]loop.Session{}, problems: map[string]error{},
	}
	for folder, ours := range map[string]*regexp.Regexp{".": currentName, closedDir: closedName} {
		if err := s.load(folder, ours); err != nil {
			return nil, errors.Join(fmt.Errorf("open the registry %s: %w", dir, err), root.Close())
		}
	}
	return s, nil
}

// Close lets go of the folder. Nothing may be called after it.
func (s *Store) Close() error { return s.root.Close() }

// load reads the files of one folder and removes what a write that was cut off has left there.
func (s *Store) load(folder string, ours *regexp.Regexp) error {
	entries, err := fs.ReadDir(s.root.FS(), folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case atomicfile.IsTemp(e.Name()) && strings.HasPrefix(e.Name(), ".github-"):
			if err := s.root.Remove(name); err != nil {
				s.logger.Warn("what a cut-off write has left cannot be removed", "file", filepath.Join(s.dir, name), "err", err)
			}
		case ours.MatchString(e.Name()):
			s.read(name)
		}
	}
	return nil
}

// read takes a file into memory, or its fault. A fault that is known already is not told again.
func (s *Store) read(name string) {
	found, faults, err := s.readFile(name)
	s.mu.Lock()
	known := s.problems[name]
	if err != nil {
		s.problems[name] = err
	} else {
		delete(s.problems, name)
		s.sessions[name] = found
	}
	s.mu.Unlock()
	if err != nil && (known == nil || known.Error() != err.Error()) {
		s.logger.Warn("a session file cannot be read and is left alone", "file", filepath.Join(s.dir, name), "err", err)
	}
	for _, fault := range faults {
		s.logger.Warn("a part of a session file is ignored", "file", filepath.Join(s.dir, name), "err", fault)
	}
}

func (s *Store) readFile(name string) (found loop.Session, faults []error, err error) {
	info, err := s.root.Lstat(name)
	if err != nil {
		return found, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return found, nil, fmt.Errorf("it is no regular file of at most %d bytes", maxSize)
	}
	data, err := s.root.ReadFile(name)
	if err != nil {
		return found, nil, err
	}
	found, faults, err = decode(data)
	if err != nil {
		return found, nil, err
	}
	if name != nameOf(found) && name != closedNameOf(found) {
		return found, nil, fmt.Errorf("it holds the session of %s, whose file is %s", found.WorkItem, nameOf(found))
	}
	return found, faults, nil
}

func nameOf(s loop.Session) string { return s.WorkItem.Slug() + ".json" }

func closedNameOf(s loop.Session) string {
	return path.Join(closedDir, s.WorkItem.Slug()+"-"+s.CreatedAt.UTC().Format(nameTime)+".json")
}

// Find returns the session of an item that is not closed, else the one that was made last, and whether there is one. A file
// that could not be read is looked at again: a person may have mended it.
func (s *Store) Find(w loop.WorkItem) (loop.Session, bool) {
	name := w.Slug() + ".json"
	if s.problem(name) != nil {
		s.lookAgain(name)
	}
	found, ok := s.at(name)
	return clone(found), ok
}

// Unreadable says that an item has a session file that cannot be read, and what to do: ErrUnavailable. Find does not find its
// session, and there may be one all the same.
func (s *Store) Unreadable(w loop.WorkItem) error {
	name := w.Slug() + ".json"
	if s.problem(name) == nil {
		return nil
	}
	s.lookAgain(name)
	err := s.problem(name)
	if err == nil {
		return nil
	}
	return fmt.Errorf("the session file %s of %s cannot be read (%w), mend it or move it away: %w",
		filepath.Join(s.dir, name), w, err, loop.ErrUnavailable)
}

func (s *Store) problem(name string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.problems[name]
}

// FindConversation returns the session that is not closed and has the conversation, and whether there is one.
func (s *Store) FindConversation(harness string, id loop.SessionID) (loop.Session, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, one := range s.sessions {
		if one.Open() && one.Harness == harness && one.HarnessSessionID == id && id != "" {
			return clone(one), true
		}
	}
	return loop.Session{}, false
}

// FindRenamed returns the session of an item that had another name when the session was made: by GitHub's number of the
// repository, which stays the same, and w's host and number. One that is not closed is preferred.
func (s *Store) FindRenamed(repositoryID int64, w loop.WorkItem) (loop.Session, bool) {
	var best loop.Session
	for _, found := range s.List() {
		if repositoryID == 0 || found.RepositoryID != repositoryID || found.WorkItem.Host != w.Host || found.WorkItem.Number != w.Number {
			continue
		}
		if best.Status == "" || found.Open() || !best.Open() {
			best = found
		}
	}
	return best, best.Status != ""
}

// List returns all sessions, also those that were closed and are still kept, the oldest first.
func (s *Store) List() []loop.Session {
	s.mu.RLock()
	all := make([]loop.Session, 0, len(s.sessions))
	for _, one := range s.sessions {
		all = append(all, clone(one))
	}
	s.mu.RUnlock()
	slices.SortFunc(all, func(a, b loop.Session) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c // before keys are made, which costs more than all the rest
		}
		return cmp.Compare(a.WorkItem.Key(), b.WorkItem.Key())
	})
	return all
}

// Problems names the files that cannot be read, a sentence each.
func (s *Store) Problems() []string {
	s.mu.RLock()
	names := slices.Collect(maps.Keys(s.problems))
	s.mu.RUnlock()
	for _, name := range names {
		s.lookAgain(name)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []string
	for name, err := range s.problems {
		all = append(all, fmt.Sprintf("session file %s cannot be read and is left alone: %v", filepath.Join(s.dir, name), err))
	}
	slices.Sort(all)
	return all
}

// Register adds a session. One of the same item that is closed gives way to it and is kept. The error is ErrExists when the
// item has a session that is not closed, or another item's has the same conversation; ErrConflict when the item has a file
// that cannot be read; ErrInvalid for a session that could not be read again.
func (s *Store) Register(add loop.Session) error {
	add = normal(add)
	err := check(add)
	if err == nil && !add.Open() {
		err = fmt.Errorf("it is closed: %w", loop.ErrInvalid)
	}
	if err != nil {
		return fmt.Errorf("register a session of %s: %w", add.WorkItem, err)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	name := nameOf(add)
	if err := s.room(name, add); err != nil {
		return err
	}
	if old, ok := s.at(name); ok {
		if err := s.retire(name, old); err != nil {
			return err
		}
	}
	return s.write(name, add)
}

// room looks for what stands in the way of a new session.
func (s *Store) room(name string, add loop.Session) error {
	if _, ok := s.at(name); !ok {
		s.lookAgain(name)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.problems[name]; err != nil {
		return fmt.Errorf("register a session of %s: its file %s cannot be read (%w), mend it or move it away: %w",
			add.WorkItem, filepath.Join(s.dir, name), err, loop.ErrConflict)
	}
	if old, ok := s.sessions[name]; ok && old.Open() {
		return fmt.Errorf("%s has a session already: %s %s, %s; close it first, or register with --force to put this one in its place: %w", add.WorkItem, old.Harness, old.HarnessSessionID, old.Status, loop.ErrExists)
	}
	for _, other := range s.sessions {
		if other.Open() && other.Harness == add.Harness && other.HarnessSessionID == add.HarnessSessionID && add.HarnessSessionID != "" {
			return fmt.Errorf("conversation %s of %s works on %s already: %w", add.HarnessSessionID, add.Harness, other.WorkItem, loop.ErrExists)
		}
	}
	return nil
}

// lookAgain takes in what became of a file since it was last looked at: it was put there, mended, or moved away.
func (s *Store) lookAgain(name string) {
	if _, err := s.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		s.read(name)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.problems, name)
}

// Update changes the session of an item that was made at a time; f is given a copy to change, and its error changes
// nothing. Updates are made one after the other, each on what the one before has left, so f must be quick and must not
// change the Store. The error is ErrNotFound when there is no such session, ErrInvalid when f leaves one that could not be
// read again, or another item or time in it, and ErrUnavailable when the disk does not take it.
func (s *Store) Update(w loop.WorkItem, createdAt time.Time, f func(*loop.Session) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	name := w.Slug() + ".json"
	old, ok := s.at(name)
	if !ok || !old.CreatedAt.Equal(createdAt) {
		name = closedNameOf(loop.Session{WorkItem: w, CreatedAt: createdAt})
		if old, ok = s.at(name); !ok {
			return fmt.Errorf("the session of %s made at %s is not there: %w", w, createdAt.Format(time.RFC3339), loop.ErrNotFound)
		}
	}
	changed := clone(old)
	if err := f(&changed); err != nil {
		return err
	}
	changed = normal(changed)
	if err := check(changed); err != nil {
		return fmt.Errorf("update the session of %s: %w", w, err)
	}
	if changed.WorkItem.Key() != old.WorkItem.Key() || !changed.CreatedAt.Equal(old.CreatedAt) {
		return fmt.Errorf("update the session of %s: its item and its time cannot be changed: %w", w, loop.ErrInvalid)
	}
	return s.write(name, changed)
}

// Identify notes GitHub's number of a session's repository for FindRenamed, unless one is known. It fails as Update does.
func (s *Store) Identify(one loop.Session, repositoryID int64) error {
	return s.Update(one.WorkItem, one.CreatedAt, func(now *loop.Session) error {
		if now.RepositoryID == 0 {
			now.RepositoryID = repositoryID
		}
		return nil
	})
}

// Prune removes sessions that were closed before keepDays, once nothing of them is waiting to be ended, and returns how many.
func (s *Store) Prune(now time.Time, keepDays int) (int, error) {
	before := now.AddDate(0, 0, -keepDays)
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	var old []string
	for name, one := range s.sessions {
		if one.Status == loop.StatusClosed && one.Ending == loop.EndingNone && one.ClosedAt != nil && one.ClosedAt.Before(before) {
			old = append(old, name)
		}
	}
	s.mu.RUnlock()
	for i, name := range old {
		if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return i, fmt.Errorf("prune sessions: %w", err)
		}
		s.mu.Lock()
		delete(s.sessions, name)
		s.mu.Unlock()
	}
	return len(old), nil
}

func (s *Store) at(name string) (loop.Session, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, ok := s.sessions[name]
	return found, ok
}

// retire moves a closed session out of the way of the next one.
func (s *Store) retire(name string, old loop.Session) error {
	to := closedNameOf(old)
	err := s.root.Rename(name, to)
	if err == nil {
		err = errors.Join(atomicfile.SyncDir(s.root, closedDir), atomicfile.SyncDir(s.root, "."))
	}
	if err != nil {
		return fmt.Errorf("keep the closed session of %s: %w: %w", old.WorkItem, err, loop.ErrUnavailable)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, name)
	s.sessions[to] = old
	return nil
}

// write brings a session to disk, then to memory.
func (s *Store) write(name string, one loop.Session) error {
	data, err := encode(one)
	if err != nil {
		return fmt.Errorf("write the session of %s: %w", one.WorkItem, err)
	}
	if err := atomicfile.Write(s.root, name, data, 0o600); err != nil {
		return fmt.Errorf("write the session of %s: %w: %w", one.WorkItem, err, loop.ErrUnavailable)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[name] = one
	return nil
}

package tmux

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

const (
	namePrefix = "loop-"
	maxSlug    = 100
	hashLength = len("-x") + 8
)

var (
	namePattern = regexp.MustCompile(`^loop-[A-Za-z0-9_-]{1,100}$`)
	slugPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)
	hashPattern = regexp.MustCompile(`-x[0-9a-f]{8}$`)
	markPattern = regexp.MustCompile(`^[0-9a-f]{16,64}$`)
	panePattern = regexp.MustCompile(`^%[0-9]{1,10}$`)
	idPattern   = regexp.MustCompile(`^\$[0-9]{1,10}$`)
)

// Name returns the session name of a work item's slug: loop- and the slug. A slug that tmux would not keep as it is, or that is
// longer than 100 characters, is cut and mended and gets -x and eight hex digits of its SHA-256, so that two slugs have two names.
func Name(slug string) string {
	if slugPattern.MatchString(slug) && !hashPattern.MatchString(slug) {
		return namePrefix + slug
	}
	mended := strings.Map(func(r rune) rune {
		if r < 0x80 && slugPattern.MatchString(string(r)) {
			return r
		}
		return '_'
	}, slug)
	sum := sha256.Sum256([]byte(slug))
	return namePrefix + mended[:min(len(mended), maxSlug-hashLength)] + "-x" + hex.EncodeToString(sum[:4])
}

// Target is one launch in one pane: what every act on a pane names.
type Target struct {
	Pane   string // its id, such as %5
	Launch string // the launch's mark
	PID    int    // of its program; 0 where that is not known. A person can start another one in the pane, which keeps the mark
}

func (t Target) check() error {
	if !panePattern.MatchString(t.Pane) {
		return fmt.Errorf("tmux pane %q is no pane id: %w", t.Pane, loop.ErrInvalid)
	}
	return checkMark(t.Launch)
}

func checkMark(launch string) error {
	if !markPattern.MatchString(launch) {
		return fmt.Errorf("launch %q is not 16 to 64 hex digits: %w", launch, loop.ErrInvalid)
	}
	return nil
}

func checkName(session string) error {
	if !namePattern.MatchString(session) {
		return fmt.Errorf("tmux session %q is no name of ours: %w", session, loop.ErrInvalid)
	}
	return nil
}

// sessionTarget is how tmux is told of a session: by a name of ours, or by an id such as $3, which it keeps when a person renames it.
func sessionTarget(session string) (string, error) {
	if idPattern.MatchString(session) {
		return session + ":", nil
	}
	return exactly(session), checkName(session)
}

// exactly is the only form of a name that tmux takes for itself alone: a bare one also matches its beginning and window names.
func exactly(session string) string { return "=" + session + ":" }

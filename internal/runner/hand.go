package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// handFile tells how a run's prompt was handed to a live conversation. It is written before that is done.
const handFile = "handed.json"

// hand is what handFile holds.
type hand struct {
	Item    string         `json:"item"`
	Launch  string         `json:"launch"`
	Process *proc.Identity `json:"process,omitempty"` // the program that it was handed to in a terminal that is not ours
	By      way            `json:"by"`
	Title   string         `json:"title"`
	Token   loop.RunID     `json:"token"` // the run whose token stands in the prompt: an earlier one when its draft was taken up
	At      time.Time      `json:"at"`
}

// prepare makes the folder of a run, with the prompt and how it is about to be handed over. The outcome is set when that must not
// be done.
func (h hand) prepare(runs string, ho loop.Handover) *loop.Outcome {
	err := h.begin(runs, ho)
	if err == nil {
		return nil
	}
	out := unreached(fmt.Errorf("prepare run %s: %w", ho.Run, err))
	if errors.Is(err, fs.ErrExist) { // whoever ends a run that has no folder makes it one
		out = endedBefore()
	}
	return &out
}

func (h hand) begin(runs string, ho loop.Handover) error {
	dir, err := makeFolder(runs, ho.Run)
	if err != nil {
		return err
	}
	defer dir.close()
	if err := atomicfile.Write(dir.root, promptFile, []byte(ho.Prompt), 0o600); err != nil {
		return err
	}
	return dir.write(handFile, h)
}

// note writes anew how the prompt of a run is about to be handed over.
func (h hand) note(runs string, run loop.RunID) error {
	dir, err := openFolder(runs, run)
	if err != nil {
		return err
	}
	defer dir.close()
	return dir.write(handFile, h)
}

// readHand returns how a run was handed to a live conversation; fs.ErrNotExist when it was not.
func readHand(runs string, id loop.RunID) (hand, error) {
	f, err := openFolder(runs, id)
	if err != nil {
		return hand{}, err
	}
	defer f.close()
	return read[hand](f, handFile)
}

// seen reports whether the harness has seen the prompt, by what its hooks told or by its own record of one of the conversations;
// term is nil for a harness of which Loop can read no record.
func (h hand) seen(live Live, term harness.Terminal, ids []loop.SessionID) (bool, error) {
	if live.Shown(h.Token) {
		return true, nil
	}
	for i, id := range ids {
		if term == nil || id == "" || slices.Contains(ids[:i], id) {
			continue
		}
		if heard, err := term.Heard(id, h.Token.Token()); heard || err != nil {
			return heard, err
		}
	}
	return false, nil
}

// owns reports whether a conversation of a harness is that of a session, also where one of the two has no id yet.
func owns(s loop.Session, harness string, id loop.SessionID) bool {
	return harness == s.Harness && (id == "" || s.HarnessSessionID == "" || slices.Contains(conversations(s), id))
}

// conversations are those in which what a session was handed may stand: a person goes on in another one whenever they like.
func conversations(s loop.Session, now ...loop.SessionID) []loop.SessionID {
	return append(append(now, s.HarnessSessionID), s.PreviousSessionIDs...)
}

// endedBefore is the outcome of a prompt that was not handed over any more.
func endedBefore() loop.Outcome {
	return loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request before it was handed over"}
}

// hookGone is the outcome of a prompt for a hook that does not wait any more.
func hookGone() *loop.Outcome {
	return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitBusy, Detail: "its hook has just stopped waiting"}
}

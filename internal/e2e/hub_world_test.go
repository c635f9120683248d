package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

const autoExecute = "the-loop: auto-execute"

// hub is a world with a GitHub in a process that loopd may ask, and a webhook of it that holds back what it would send.
type hub struct {
	*world

	gh   *githubtest.Server
	shop *githubtest.Repository
	hook *githubtest.Hook
}

// newHub makes such a world, in which acme/shop is watched and polled when a test says so. Config is as in newWorld.
func newHub(t *testing.T, config string) *hub {
	t.Helper()
	gh := githubtest.NewServer("")
	t.Cleanup(gh.Close)
	gh.SetClock(time.Now)
	h := &hub{gh: gh, shop: gh.Repo("acme", "shop"), hook: gh.Webhook("http://127.0.0.1:1/", []byte(secret))}
	h.hook.Hold()
	h.world = newWorld(t, fmt.Sprintf(`
spawn_on_unmatched = "labeled"
[github]
api_url = %q
[polling]
enabled = true
interval_seconds = 36000
sources = [{ repos = ["acme/shop"] }]
`, gh.API())+config)
	h.env = append(h.env, "GITHUB_TOKEN="+githubtest.Token)
	return h
}

// count is what `loopctl poll -o json` prints of a repository.
type count struct {
	Repository                          string
	Items, Deliveries, Closures, Errors int
}

// poll runs a cycle, and returns what it found in acme/shop.
func (h *hub) poll() count {
	h.t.Helper()
	var all []count
	h.decode(h.must("poll", "-o", "json"), &all)
	if len(all) != 1 || all[0].Repository != "acme/shop" {
		h.t.Fatalf("polled %+v, want acme/shop alone", all)
	}
	return all[0]
}

// deliver sends by webhook what was held back.
func (h *hub) deliver(all []githubtest.Delivery) {
	h.t.Helper()
	for _, d := range all {
		if a := h.postAs(d.GUID, d.Event, d.Body); a.status != http.StatusAccepted {
			h.t.Fatalf("delivery of %s: %d %s", d.Event, a.status, a.body)
		}
	}
}

// idle waits until nothing is owed any more, however much it is.
func (h *hub) idle() {
	h.t.Helper()
	owed := func() int64 {
		d := h.status().Deliveries
		return d["received"] + d["queued"] + d["waiting"] + d["running"]
	}
	for n := owed(); n > 0; n = owed() {
		h.await("one more to be settled", func() bool { return owed() != n })
	}
}

// standing is how a session stands, as `loopctl sessions list -o json` prints it.
type standing struct {
	WorkItem struct {
		Ref    string
		Number int
	}
	Status, CloseReason string
}

func (s standing) String() string {
	return strings.TrimSpace(s.WorkItem.Ref + " " + s.Status + " " + s.CloseReason)
}

// sessions returns how all sessions stand, in the order of their items' numbers.
func (h *hub) sessions() (all []standing) {
	h.t.Helper()
	h.decode(h.must("sessions", "list", "--status", "all", "-o", "json"), &all)
	slices.SortFunc(all, func(a, b standing) int { return a.WorkItem.Number - b.WorkItem.Number })
	return all
}

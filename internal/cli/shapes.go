package cli

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// What -o json prints. Names are stable: those of a session are the names in its file, and every name is always there,
// null where it is unset.

type sessionShape struct {
	WorkItem                 *loop.WorkItem `json:"workItem"`
	Harness                  string         `json:"harness"`
	HarnessSessionID         string         `json:"harnessSessionId"`
	Cwd                      string         `json:"cwd"`
	Runner                   string         `json:"runner"`
	TmuxTarget               string         `json:"tmuxTarget"`
	Status                   string         `json:"status"`
	CreatedAt                *time.Time     `json:"createdAt"`
	LastEventAt              *time.Time     `json:"lastEventAt"`
	RecentDeliveries         []string       `json:"recentDeliveries"`
	PullRequests             []string       `json:"pullRequests"`
	Spawned                  bool           `json:"spawned"`
	PreviousHarnessSessionID []string       `json:"previousHarnessSessionIds"`
	PauseReason              *string        `json:"pauseReason"`
	ClosedAt                 *time.Time     `json:"closedAt"`
	CloseReason              *string        `json:"closeReason"`
	Ending                   *string        `json:"ending"`
	AskedAt                  *time.Time     `json:"askedAt"`
	AskedURL                 *string        `json:"askedUrl"`

	// What the file does not hold.
	Activity *string        `json:"activity"`
	WaitsFor *string        `json:"waitsFor"`
	Queued   int32          `json:"queued"`
	Presence *presenceShape `json:"presence"`
}

// presenceShape is where a conversation is live, as its hooks told.
type presenceShape struct {
	Harness          string     `json:"harness"`
	HarnessSessionID string     `json:"harnessSessionId"`
	Launch           *string    `json:"launch"`
	PID              int32      `json:"pid"`
	Turn             *string    `json:"turn"`
	Since            *time.Time `json:"since"`
	Detail           *string    `json:"detail"`
	Where            *string    `json:"where"`
	WakeHook         bool       `json:"wakeHook"`
}

func presenceOf(p *loopv1.Presence) *presenceShape {
	if p == nil {
		return nil
	}
	return &presenceShape{
		Harness: p.GetHarness(), HarnessSessionID: p.GetHarnessSessionId(), Launch: orNull(p.GetLaunch()), PID: p.GetPid(),
		Turn: orNull(p.GetTurn()), Since: timeOf(p.GetSince()), Detail: orNull(p.GetDetail()), Where: orNull(p.GetWhere()), WakeHook: p.GetWaker(),
	}
}

// state says what the conversation does now: «busy 3m», «waiting 5s: permission to use Bash»; "" where it is live nowhere.
func (p *presenceShape) state() string {
	if p == nil {
		return ""
	}
	said := orElse(p.Turn, "live")
	if p.Since != nil {
		said += " " + span(max(0, time.Since(*p.Since)))
	}
	if p.Detail != nil {
		said += ": " + *p.Detail
	}
	return said
}

// place says where the conversation is live.
func (p *presenceShape) place() string {
	if p == nil {
		return ""
	}
	said := "in a terminal of its own"
	switch {
	case p.Launch != nil:
		said = "in a terminal of loopd's"
	case p.Where != nil:
		said += " (" + *p.Where + ")"
	}
	if p.PID != 0 {
		said += ", pid " + decimal(p.PID)
	}
	if p.WakeHook {
		said += ", a hook waits there for events"
	}
	return said
}

func sessionOf(s *loopv1.Session) sessionShape {
	return sessionShape{
		WorkItem: itemOf(s.GetWorkItem().GetRef()), Harness: s.GetHarness(), HarnessSessionID: s.GetHarnessSessionId(),
		Cwd: s.GetCwd(), Runner: s.GetRunner(), TmuxTarget: s.GetTmuxTarget(), Status: s.GetStatus(),
		CreatedAt: timeOf(s.GetCreatedAt()), LastEventAt: timeOf(s.GetLastEventAt()),
		RecentDeliveries: list(s.GetRecentDeliveries()), PullRequests: list(s.GetPullRequests()),
		Spawned: s.GetSpawned(), PreviousHarnessSessionID: list(s.GetPreviousSessionIds()),
		PauseReason: orNull(s.GetPauseReason()), ClosedAt: timeOf(s.GetClosedAt()), CloseReason: orNull(s.GetCloseReason()),
		Ending: orNull(s.GetEnding()), AskedAt: timeOf(s.GetAskedAt()), AskedURL: orNull(s.GetAskedUrl()), Activity: orNull(s.GetActivity()), WaitsFor: orNull(s.GetWaitsFor()), Queued: s.GetQueued(),
		Presence: presenceOf(s.GetPresence()),
	}
}

func (s sessionShape) ref() string { return refOf(s.WorkItem) }

// doing is the activity with what it waits for: «waiting: dialog».
func (s sessionShape) doing() string {
	if s.WaitsFor == nil {
		return text(s.Activity)
	}
	return text(s.Activity) + ": " + *s.WaitsFor
}

// state is the status with what qualifies it: «paused (runaway)», «closed, ending: harness».
func (s sessionShape) state() string {
	switch {
	case s.Ending != nil:
		return s.Status + ", ending: " + *s.Ending
	case s.PauseReason != nil:
		return s.Status + " (" + *s.PauseReason + ")"
	}
	return s.Status
}

type deliveryShape struct {
	ID         string         `json:"id"`
	Seq        int64          `json:"seq"`
	Source     string         `json:"source"`
	Kind       string         `json:"kind"`
	ReceivedAt *time.Time     `json:"receivedAt"`
	State      string         `json:"state"`
	Reason     *string        `json:"reason"`
	Error      *string        `json:"error"`
	WorkItem   *loop.WorkItem `json:"workItem"`
	Decision   *string        `json:"decision"`
	Fact       *string        `json:"fact"`
	Attempts   int32          `json:"attempts"`
	DueAt      *time.Time     `json:"dueAt"`
	Run        *string        `json:"run"`
	Summary    *string        `json:"summary"`
	EndedAt    *time.Time     `json:"endedAt"`
}

func deliveryOf(d *loopv1.Delivery) deliveryShape {
	return deliveryShape{
		ID: d.GetId(), Seq: d.GetSeq(), Source: d.GetSource(), Kind: d.GetKind(), ReceivedAt: timeOf(d.GetReceivedAt()),
		State: d.GetState(), Reason: orNull(d.GetReason()), Error: orNull(d.GetError()), WorkItem: itemOf(d.GetWorkItem()),
		Decision: orNull(d.GetDecision()), Fact: orNull(d.GetFact()), Attempts: d.GetAttempts(), DueAt: timeOf(d.GetDueAt()),
		Run: orNull(d.GetRun()), Summary: orNull(d.GetSummary()), EndedAt: timeOf(d.GetEndedAt()),
	}
}

func deliveriesOf(ds []*loopv1.Delivery) []deliveryShape {
	shapes := make([]deliveryShape, len(ds))
	for i, d := range ds {
		shapes[i] = deliveryOf(d)
	}
	return shapes
}

// state is the state with its reason: «dropped, unauthorized-actor».
func (d deliveryShape) state() string {
	if d.Reason != nil {
		return d.State + ", " + *d.Reason
	}
	return d.State
}

type eventShape struct {
	Seq        int64             `json:"seq"`
	At         *time.Time        `json:"at"`
	Type       string            `json:"type"`
	WorkItem   *loop.WorkItem    `json:"workItem"`
	DeliveryID *string           `json:"deliveryId"`
	Run        *string           `json:"run"`
	Message    string            `json:"message"`
	Fields     map[string]string `json:"fields"`
}

func eventOf(e *loopv1.EventsResponse) eventShape {
	return eventShape{
		Seq: e.GetSeq(), At: timeOf(e.GetAt()), Type: e.GetType(), WorkItem: itemOf(e.GetWorkItem()),
		DeliveryID: orNull(e.GetDeliveryId()), Run: orNull(e.GetRun()), Message: e.GetMessage(), Fields: orEmpty(e.GetFields()),
	}
}

// itemOf is the work item with a ref that loopd sent; nil for none.
func itemOf(ref string) *loop.WorkItem {
	item, err := loop.ParseRef(ref)
	if err != nil {
		return nil
	}
	return &item
}

func refOf(item *loop.WorkItem) string {
	if item == nil {
		return ""
	}
	return item.Ref()
}

func timeOf(t *timestamppb.Timestamp) *time.Time {
	if t == nil || !t.IsValid() {
		return nil
	}
	at := t.AsTime()
	return &at
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// list is a list that is [] in JSON where it is empty.
func list(s []string) []string { return append([]string{}, s...) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// orEmpty is a map that is {} in JSON where it is empty.
func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

func orElse(s *string, other string) string {
	if s == nil {
		return other
	}
	return *s
}

func orDash(s string) string { return cmp.Or(s, "-") }

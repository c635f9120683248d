package githubtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Delivery is a webhook that was sent, or that waits to be. Its GUID names the event: all hooks that hear of it, and all
// tries, share it.
type Delivery struct {
	GUID   string
	Event  string
	Action string
	Body   []byte
	repo   int64
}

// Hook is a webhook of every repository of a server.
type Hook struct {
	ID int64

	s      *Server
	url    string
	secret []byte
	held   bool
	queue  []Delivery
	tries  []*try
}

// try is one sending of a delivery.
type try struct {
	Delivery
	id     int64
	at     time.Time
	again  bool
	code   int
	status string
}

// Webhook sends what changes from now on to url, signed with secret: before the method that changes it returns, and after a
// request that changes it was answered.
func (s *Server) Webhook(url string, secret []byte) *Hook {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &Hook{s: s, ID: int64(len(s.hooks) + 1), url: url, secret: secret}
	s.hooks = append(s.hooks, h)
	return h
}

// Move changes where deliveries are sent to from now on.
func (h *Hook) Move(url string) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.url = url
}

// Hold keeps deliveries back until Release, or until Take takes them.
func (h *Hook) Hold() {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.held = true
}

// Release sends what was held back, in order, and all that follows at once.
func (h *Hook) Release() {
	for _, d := range h.take(false) {
		h.Send(d)
	}
}

// Take returns what was held back, and forgets it: the test may send it in any order, any number of times, or never.
func (h *Hook) Take() []Delivery { return h.take(h.isHeld()) }

func (h *Hook) isHeld() bool { return read(h.s, func() bool { return h.held }) }

func (h *Hook) take(held bool) []Delivery {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	queue := h.queue
	h.queue, h.held = nil, held
	return queue
}

// Send sends a delivery now, and returns the status of the answer, 0 for none. It counts as one more try.
func (h *Hook) Send(d Delivery) int { return h.send(context.Background(), d, false) }

// Failed returns the events whose last try was not answered with 2xx, oldest first.
func (h *Hook) Failed() []Delivery {
	return read(h.s, func() []Delivery {
		last := map[string]*try{}
		for _, t := range h.tries {
			last[t.GUID] = t
		}
		var out []Delivery
		for _, t := range h.tries {
			if last[t.GUID] == t && t.code/100 != 2 {
				out = append(out, t.Delivery)
			}
		}
		return out
	})
}

func newSender() *http.Client {
	return &http.Client{
		Timeout:       10 * time.Second,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (h *Hook) send(ctx context.Context, d Delivery, again bool) int {
	code, status := h.post(ctx, d)
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.tries = append(h.tries, &try{Delivery: d, id: h.s.id("delivery"), at: h.s.now(), again: again, code: code, status: status})
	return code
}

func (h *Hook) post(ctx context.Context, d Delivery) (code int, status string) {
	url := read(h.s, func() string { return h.url })
	req, err := NewRequest(context.WithoutCancel(ctx), url, h.secret, d.Event, d.GUID, d.Body)
	if err != nil {
		return 0, "invalid address"
	}
	req.Header.Set("X-GitHub-Hook-ID", strconv.FormatInt(h.ID, 10))
	req.Header.Set("X-GitHub-Hook-Installation-Target-Type", "repository")
	req.Header.Set("X-GitHub-Hook-Installation-Target-ID", strconv.FormatInt(d.repo, 10))
	if h.s.enterprise() {
		req.Header.Set("X-GitHub-Enterprise-Host", h.s.host)
	}
	res, err := h.s.send.Do(req)
	if err != nil {
		return 0, "failed to connect to host"
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 != 2 {
		return res.StatusCode, "Invalid HTTP Response: " + strconv.Itoa(res.StatusCode)
	}
	return res.StatusCode, "OK"
}

// change is what happens at once, and makes GitHub send what it makes it send.
type change struct {
	s       *Server
	base    context.Context //nolint:containedctx // a change is over before its request is
	headers [][2]string
	sends   []sending
}

type sending struct {
	hook  *Hook
	d     Delivery
	again bool
}

func (ch *change) header(name, value string) {
	if value != "" {
		ch.headers = append(ch.headers, [2]string{name, value})
	}
}

// emit writes an event down for every hook. The body says how things are now.
func (ch *change) emit(r *Repository, event, action, who string, body map[string]any) {
	if len(ch.s.hooks) == 0 {
		return
	}
	body["repository"], body["sender"] = r.view(), user(who)
	if action != "" {
		body["action"] = action
	}
	raw, err := json.Marshal(ch.s.settle(body))
	if err != nil {
		panic(fmt.Sprintf("githubtest: %s: %v", event, err)) // a fault of ours
	}
	guid := fmt.Sprintf("%08x-0000-4000-8000-%012x", number(ch.s.host), ch.s.id("guid"))
	d := Delivery{GUID: guid, Event: event, Action: action, Body: raw, repo: r.ID}
	for _, h := range ch.s.hooks {
		if h.held {
			h.queue = append(h.queue, d)
			continue
		}
		ch.sends = append(ch.sends, sending{h, d, false})
	}
}

// send sends what was written down. The server is not locked: who receives may ask it.
func (ch *change) send() {
	base := ch.base
	if base == nil {
		base = context.Background()
	}
	for _, s := range ch.sends {
		s.hook.send(base, s.d, s.again)
	}
}

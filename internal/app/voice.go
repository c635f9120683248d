package app

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
)

// offlinePause is how long nothing is posted on a host that cannot be reached.
const offlinePause = time.Minute

// voice puts a configuration into the words of dispatch.
func voice(cfg config.Config) dispatch.Voice {
	v := dispatch.Voice{Announce: cfg.Routing.Announce.Enabled}
	if r := cfg.Routing.Reactions; r.Enabled {
		v.Started, v.Completed, v.Error = r.Started, r.Completed, r.Error
	}
	return v
}

// post puts a letter on GitHub. A repository that has another name now is found, and written to there.
func (d *daemon) post(ctx context.Context, l outbox.Letter) (outbox.Receipt, error) {
	client := d.hub.Load()
	r, err := postWith(ctx, client, l)
	if moved, ok := errors.AsType[*github.Error](err); ok && moved.Location != "" {
		now, where := client.Repository(ctx, loop.Repo{Host: l.Item.Host, Owner: l.Item.Owner, Name: l.Item.Repo})
		if where == nil && !strings.EqualFold(now.Owner+"/"+now.Name, l.Item.Owner+"/"+l.Item.Repo) {
			l.Item.Owner, l.Item.Repo = now.Owner, now.Name
			r, err = postWith(ctx, client, l)
		}
	}
	return r, whetherThere(err, time.Now())
}

func postWith(ctx context.Context, client *github.Client, l outbox.Letter) (outbox.Receipt, error) {
	if l.Topic == outbox.Reaction {
		return outbox.Receipt{}, client.React(ctx, github.Target{Item: l.Item, Comment: l.Comment, Inline: l.Inline}, l.Text)
	}
	c, err := client.Post(ctx, l.Item, l.Text)
	return outbox.Receipt{ID: c.ID, URL: c.URL, At: c.CreatedAt}, err
}

// whetherThere says in the words of the outbox what an error means for what was to be posted.
func whetherThere(err error, now time.Time) error {
	if limit, ok := errors.AsType[*github.LimitError](err); ok {
		return &outbox.LaterError{Until: limit.Until, Err: err}
	}
	if _, ok := errors.AsType[*github.Error](err); ok {
		return err
	}
	if errors.Is(err, loop.ErrDenied) { // nobody refused anything: there is no token
		return &outbox.MuteError{Err: err}
	}
	dial, isNet := errors.AsType[*net.OpError](err)
	if _, isDNS := errors.AsType[*net.DNSError](err); isDNS || isNet && dial.Op == "dial" {
		return &outbox.LaterError{Until: now.Add(offlinePause), Err: err}
	}
	return err
}

// logins are the accounts that loopd acts as. Nobody waits for GitHub to name them.
type logins struct {
	mu    sync.Mutex
	known map[string]login // by host
	want  chan string      // hosts to ask
}

type login struct {
	name  string
	asked time.Time
}

// loginLasts is how long an account that was named, or could not be, is not asked for again.
const loginLasts = 10 * time.Minute

func newLogins() *logins { return &logins{known: map[string]login{}, want: make(chan string, 16)} }

// of names the account that loopd acts as on a host, "" while that is not known, and has it asked for where it is time.
func (l *logins) of(host string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.known[host]
	if time.Since(now.asked) < loginLasts {
		return now.name
	}
	select {
	case l.want <- host:
		l.known[host] = login{now.name, time.Now()}
	default: // many wait to be asked
	}
	return now.name
}

func (l *logins) learn(host, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[host] = login{name, time.Now()}
}

// introduce asks whose tokens are used, first on the host of the configuration, until ctx ends. That there is none is said once.
func (d *daemon) introduce(ctx context.Context) {
	said := map[string]bool{}
	d.logins.of(d.hub.Load().Host())
	for {
		select {
		case <-ctx.Done():
			return
		case host := <-d.logins.want:
			name, err := d.hub.Load().Login(ctx, host)
			switch {
			case err == nil:
				d.logins.learn(host, name)
			case ctx.Err() == nil && !said[host]:
				said[host] = true
				d.log.Warn("it is not known whose account is used on GitHub; without a token nothing is posted there", "host", host, "err", loop.Plain(err))
			}
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

const (
	pollRepos    = 3
	pollItems    = 50 // with the label
	pollSessions = 20
)

// steadyPoll counts what a cycle asks GitHub in which nothing has happened. The yardstick asks about each item, and for what was
// said on it.
func (b *bench) steadyPoll(ctx context.Context) (_ []row, err error) {
	gh := githubtest.NewServer("")
	defer gh.Close()
	p, err := newPlace(b.bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	if err := p.watch(gh); err != nil {
		return nil, err
	}
	if _, err := p.start(ctx); err != nil {
		return nil, err
	}
	for n := range pollItems {
		repoOf(gh, n).Open("ana", githubtest.Item{Number: 1 + n}).Label("ana", "work")
	}
	for n := range pollSessions {
		it := repoOf(gh, n).Open("ana", githubtest.Item{Number: 100 + n})
		args := registration(0)
		args[3] = fmt.Sprintf("%s/%s#%d", it.Repo.Owner, it.Repo.Name, it.Number)
		if _, err := p.loopctl(ctx, args...); err != nil {
			return nil, err
		}
	}
	for range 4 { // they are seen, and then all is quiet
		gh.Advance(2 * time.Minute)
		if _, err := p.loopctl(ctx, "poll"); err != nil {
			return nil, err
		}
		gh.ForgetRequests()
	}
	took, err := p.loopctl(ctx, "poll")
	if err != nil {
		return nil, err
	}
	all, unchanged := gh.Count("*")
	each := 2 * (pollItems + pollSessions)
	const aim = 6 * pollRepos
	return []row{{
		what:   fmt.Sprintf("a cycle without news, %d repositories, %d labelled items, %d sessions: requests", pollRepos, pollItems, pollSessions),
		loop:   fmt.Sprintf("%d, %d not modified, in %s", all, unchanged, ms(took)),
		beside: fmt.Sprintf("%d, item by item", each), ratio: fmt.Sprintf("%.2f", float64(all)/float64(each)),
		aim: fmt.Sprintf("≤ %d, all not modified", aim), met: said(all <= aim && all == unchanged),
	}}, nil
}

func repoOf(gh *githubtest.Server, n int) *githubtest.Repository {
	return gh.Repo("acme", fmt.Sprintf("shop-%d", n%pollRepos))
}

// watch has loopd ask that GitHub, about all of its repositories.
func (p *place) watch(gh *githubtest.Server) error {
	p.env = append(p.env, "GITHUB_TOKEN="+githubtest.Token)
	f, err := os.OpenFile(p.in("loop.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "[github]\napi_url = %q\n[polling]\nenabled = true\ninterval_seconds = 36000\n[[polling.sources]]\nlabel = \"work\"\nrepos = [", gh.API())
	for n := range pollRepos {
		r := repoOf(gh, n)
		_, more := fmt.Fprintf(f, "%q,", r.Owner+"/"+r.Name)
		err = errors.Join(err, more)
	}
	_, last := fmt.Fprintln(f, "]")
	return errors.Join(err, last, f.Close())
}

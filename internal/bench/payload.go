package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Two sizes of bodies: what GitHub sends most, and an item with long texts.
const (
	small = 8 << 10
	large = 200 << 10
)

// stranger is nobody whom a benchmark lets steer an agent.
const stranger = "a-passer-by"

// placeholder stands where a comment's own number belongs.
const placeholder = 9_007_199_254_740_993

// stock is bodies of one size, each with a place for a number that no other delivery has, and signatures for so many numbers.
// What is sent is so put together from pieces that are there already.
type stock struct {
	secret []byte
	bodies [][2][]byte // what stands before the number and behind it
	signed []signed
	next   int64 // number
}

// signed is a body with its number and its signature.
type signed struct {
	body      [2][]byte
	number    string
	signature string
}

func (s signed) size() int { return len(s.body[0]) + len(s.number) + len(s.body[1]) }

// newStock makes bodies of about a size. The same seed makes the same ones.
func newStock(secret []byte, size int, seed uint64) *stock {
	s := &stock{secret: secret, next: 1_000_000_000}
	w := newWriter(seed)
	mark := []byte(strconv.Itoa(placeholder))
	for i := range max(4, (1<<20)/size) {
		whole := w.comment(i+1, size)
		before, after, _ := bytes.Cut(whole, mark)
		s.bodies = append(s.bodies, [2][]byte{before, after})
	}
	return s
}

// sign prepares so many deliveries, none of which were there before.
func (s *stock) sign(n int) {
	s.signed = slices.Grow(s.signed[:0], n)
	var whole []byte
	for i := range n {
		one := signed{body: s.bodies[i%len(s.bodies)], number: strconv.FormatInt(s.next, 10)}
		s.next++
		whole = append(append(append(whole[:0], one.body[0]...), one.number...), one.body[1]...)
		one.signature = githubtest.Sign(s.secret, whole)
		s.signed = append(s.signed, one)
	}
}

// writer writes payloads with all that GitHub puts into them, and texts as people write them: words of different
// frequency, code, logs and hashes. What is the same everywhere would flatter whoever compresses it.
type writer struct {
	r     *rand.Rand
	words []string
}

func newWriter(seed uint64) *writer {
	w := &writer{r: rand.New(rand.NewPCG(seed, 7))} //nolint:gosec // the same payloads in each run
	parts := strings.Fields("an ter lo per con st re mi ca ble tion sh ou ing ar ve el to ni ad ex pro com de ur qui ba fle gro ph")
	for range 3000 {
		var b strings.Builder
		for range 1 + w.r.IntN(4) {
			b.WriteString(parts[w.r.IntN(len(parts))])
		}
		w.words = append(w.words, b.String())
	}
	return w
}

// comment is the payload of a comment on an issue, by a stranger.
func (w *writer) comment(number, size int) []byte {
	build := func(text int) []byte {
		it := githubtest.Item{Number: number, Title: w.sentence(6), Body: w.text(text / 2), Author: stranger}
		for range min(1+size/4096, 50) {
			it.Labels = append(it.Labels, w.sentence(2))
		}
		c := githubtest.Comment{ID: placeholder, Body: w.text(text - text/2)}
		return githubtest.IssueComment("created", stranger, it, c, w.links)
	}
	frame := len(build(0))
	return build(max(0, (size-frame)*95/100)) // a text takes some more as JSON
}

// links adds to a payload the addresses and dates that GitHub sends of each object, which are most of a small one.
func (w *writer) links(body map[string]any) {
	repo := "https://api.github.com/repos/acme/shop"
	object(body, "repository", func(o map[string]any) {
		for name := range strings.FieldsSeq("archive assignees blobs branches collaborators comments commits compare contents contributors " +
			"deployments downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels " +
			"languages merges milestones notifications pulls releases stargazers statuses subscribers subscription tags teams trees") {
			o[name+"_url"] = repo + "/" + name + "{/sha}"
		}
		o["node_id"], o["pushed_at"], o["size"] = w.hash(20), w.date(), w.r.IntN(90000)
		account(o, "owner", w)
	})
	for _, name := range []string{"issue", "comment"} {
		object(body, name, func(o map[string]any) {
			for kind := range strings.FieldsSeq("labels comments events timeline reactions") {
				o[kind+"_url"] = fmt.Sprintf("%s/issues/%d/%s", repo, w.r.IntN(90000), kind)
			}
			o["node_id"], o["author_association"], o["performed_via_github_app"] = w.hash(20), "NONE", nil
			o["reactions"] = map[string]int{"total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0}
			account(o, "user", w)
		})
	}
	account(body, "sender", w)
}

func object(in map[string]any, name string, change func(map[string]any)) {
	if o, ok := in[name].(map[string]any); ok {
		change(o)
	}
}

func account(in map[string]any, name string, w *writer) {
	object(in, name, func(o map[string]any) {
		page := fmt.Sprintf("https://api.github.com/users/%v", o["login"])
		for kind := range strings.FieldsSeq("followers following gists starred subscriptions organizations repos events received_events") {
			o[kind+"_url"] = page + "/" + kind
		}
		o["url"], o["node_id"], o["gravatar_id"] = page, w.hash(10), ""
		o["avatar_url"] = fmt.Sprintf("https://avatars.githubusercontent.com/u/%d?v=4", w.r.IntN(1e8))
	})
}

// text writes about so many bytes: paragraphs, with a piece of a log or of code here and there.
func (w *writer) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		switch w.r.IntN(5) {
		case 0:
			fmt.Fprintf(&b, "```\n")
			for range 3 + w.r.IntN(9) {
				fmt.Fprintf(&b, "%s ERROR %s/%s.go:%d: %s %s\n", w.date(), w.word(), w.word(), w.r.IntN(900), w.sentence(5), w.hash(4))
			}
			fmt.Fprintf(&b, "```\n\n")
		case 1:
			fmt.Fprintf(&b, "See %s and \"%s\" in `%s(%s)` – naïve, I'd say.\n\n", w.hash(20), w.sentence(4), w.word(), w.word())
		default:
			for range 2 + w.r.IntN(4) {
				fmt.Fprintf(&b, "%s. ", w.sentence(5+w.r.IntN(14)))
			}
			b.WriteString("\n\n")
		}
	}
	return strings.ToValidUTF8(b.String()[:n], "")
}

func (w *writer) sentence(words int) string {
	all := make([]string, words)
	for i := range all {
		all[i] = w.word()
	}
	return strings.Join(all, " ")
}

// word returns a common word often and a rare one seldom.
func (w *writer) word() string {
	x := w.r.Float64()
	return w.words[int(x*x*x*float64(len(w.words)))]
}

func (w *writer) hash(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(w.r.IntN(256))
	}
	return hex.EncodeToString(b)
}

func (w *writer) date() string {
	return githubtest.Epoch.Add(time.Duration(w.r.IntN(1e9)) * time.Millisecond).Format(time.RFC3339Nano)
}

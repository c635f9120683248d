package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// ProviderGitHub is the provider of issues and pull requests on GitHub. Other prefixes (jira, …) are reserved.
const ProviderGitHub = "github"

// WorkItem names an issue or a pull request, as a person wrote it or as GitHub spells it. Owner, repository and host
// compare case-insensitively: use Key, not ==, to tell whether two are the same.
type WorkItem struct {
	Provider string // ProviderGitHub
	Host     string // "" is github.com; else a host with a dot or a port, such as "ghe.example.com"
	Owner    string
	Repo     string
	Number   int // 1 or more
}

// ItemKey identifies a work item: two spellings of one item have the same key. It is the lower-case Ref.
type ItemKey string

// Ref returns the canonical text, github:OWNER/REPO#N, or github:HOST/OWNER/REPO#N on another host than github.com.
func (w WorkItem) Ref() string {
	if w.IsZero() {
		return ""
	}
	return w.Provider + ":" + w.RepoName() + "#" + strconv.Itoa(w.Number)
}

// String returns Ref.
func (w WorkItem) String() string { return w.Ref() }

// Key returns what identifies the item.
func (w WorkItem) Key() ItemKey { return ItemKey(strings.ToLower(w.Ref())) }

// IsZero reports whether w names nothing.
func (w WorkItem) IsZero() bool { return w == WorkItem{} }

// RepoName returns OWNER/REPO, or HOST/OWNER/REPO on another host than github.com.
func (w WorkItem) RepoName() string {
	if w.Host != "" {
		return w.Host + "/" + w.Owner + "/" + w.Repo
	}
	return w.Owner + "/" + w.Repo
}

// Sibling returns the item with another number in the same repository.
func (w WorkItem) Sibling(number int) WorkItem {
	w.Number = number
	return w
}

// SameRepo reports whether both items are in one repository.
func (w WorkItem) SameRepo(o WorkItem) bool {
	return w.Provider == o.Provider && strings.EqualFold(w.RepoName(), o.RepoName())
}

// maxSlug is where the readable part of a slug with a hash is cut, so that it still fits in a file name of 255 bytes with
// what others put behind it.
const maxSlug = 180

var plainSlug = regexp.MustCompile(`^[a-z0-9_-]+$`)

// Slug returns the item's name for files, tmux sessions and folders: lower case, letters, digits, - and _ only, for
// example github-acme-shop-15. Where two items could share a name (a hyphen in the owner, a character that had to be
// replaced, another host, a name cut because it is too long) it ends in -h and eight hex digits of the key's SHA-256, so that no two ever do.
func (w WorkItem) Slug() string {
	plain := strings.ToLower(w.Provider + "-" + w.Owner + "-" + w.Repo + "-" + strconv.Itoa(w.Number))
	if w.Host == "" && !strings.Contains(w.Owner, "-") && len(plain) <= maxSlug && plainSlug.MatchString(plain) {
		return plain
	}
	name := strings.ToLower(w.Provider + "-" + strings.ReplaceAll(w.RepoName(), "/", "-") + "-" + strconv.Itoa(w.Number))
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
	sum := sha256.Sum256([]byte(w.Key()))
	name = name[:min(len(name), maxSlug)]
	return name + "-h" + hex.EncodeToString(sum[:4])
}

// URL returns the item's page for people.
func (w WorkItem) URL() string {
	host := w.Host
	if host == "" {
		host = "github.com"
	}
	return "https://" + host + "/" + w.Owner + "/" + w.Repo + "/issues/" + strconv.Itoa(w.Number)
}

var (
	ownerPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$`)
	repoPattern  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	hostPattern  = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?$`)
)

// NewWorkItem checks the parts of a GitHub item and returns it. A host of "github.com" is the same as none. The error is
// ErrInvalid and says which part is wrong.
func NewWorkItem(host, owner, repo string, number int) (WorkItem, error) {
	host = canonicalHost(host)
	switch {
	case host != "" && (!hostPattern.MatchString(host) || !strings.ContainsAny(host, ".:") || strings.Contains(host, "..")):
		return WorkItem{}, fmt.Errorf("host %q needs a dot or a port, as in ghe.example.com: %w", host, ErrInvalid)
	case !ownerPattern.MatchString(owner):
		return WorkItem{}, fmt.Errorf("owner %q is no GitHub account name: %w", owner, ErrInvalid)
	case !repoPattern.MatchString(repo) || repo == "." || repo == "..":
		return WorkItem{}, fmt.Errorf("repository %q is no GitHub repository name: %w", repo, ErrInvalid)
	case number < 1 || number > 1<<31-1:
		return WorkItem{}, fmt.Errorf("number %d is not between 1 and 2147483647: %w", number, ErrInvalid)
	}
	return WorkItem{Provider: ProviderGitHub, Host: host, Owner: owner, Repo: repo, Number: number}, nil
}

// ParseRef reads the canonical text of Ref. The error is ErrInvalid, names the text and shows the right shape.
func ParseRef(s string) (WorkItem, error) {
	provider, rest, ok := strings.Cut(s, ":")
	if !ok {
		return WorkItem{}, badRef(s, "it has no provider")
	}
	if provider != ProviderGitHub {
		return WorkItem{}, badRef(s, "provider "+strconv.Quote(provider)+" is not known; only github is")
	}
	return parseName(s, rest)
}

// ParseAny reads a work item as people write it: the canonical text, OWNER/REPO#N, HOST/OWNER/REPO#N, or the URL of an
// issue or pull request page. The error is that of ParseRef.
func ParseAny(s string) (WorkItem, error) {
	switch {
	case strings.HasPrefix(s, "https://"), strings.HasPrefix(s, "http://"):
		return parseURL(s)
	case strings.HasPrefix(s, ProviderGitHub+":"):
		return ParseRef(s)
	}
	if before, after, ok := strings.Cut(s, ":"); ok && !strings.ContainsAny(before, "./") && !portFirst.MatchString(after) {
		return ParseRef(s) // another provider, named in the error
	}
	return parseName(s, s)
}

// portFirst matches what follows localhost: in localhost:8443/OWNER/REPO#N.
var portFirst = regexp.MustCompile(`^[0-9]{1,5}/`)

func parseName(whole, s string) (WorkItem, error) {
	name, num, ok := strings.Cut(s, "#")
	if !ok {
		return WorkItem{}, badRef(whole, "it has no #number")
	}
	parts := strings.Split(name, "/")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 || len(parts[0]) == 0 && strings.HasPrefix(name, "/") {
		return WorkItem{}, badRef(whole, "it does not name one repository")
	}
	return newFromText(whole, parts[0], parts[1], parts[2], num)
}

func parseURL(s string) (WorkItem, error) {
	u, err := url.Parse(s)
	if err != nil {
		return WorkItem{}, badRef(s, "it is no URL")
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 4 || parts[2] != "issues" && parts[2] != "pull" && parts[2] != "pulls" {
		return WorkItem{}, badRef(s, "it is not the page of an issue or pull request")
	}
	if u.Host == "" {
		return WorkItem{}, badRef(s, "its URL names no host")
	}
	return newFromText(s, URLHost(u), parts[0], parts[1], parts[3])
}

// URLHost returns the host of a web address as work items name it: lower case, without the port that the scheme implies,
// and "" for github.com.
func URLHost(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	} else if u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":80")
	}
	return canonicalHost(host)
}

func canonicalHost(host string) string {
	host = strings.ToLower(host)
	if host == "github.com" || host == "www.github.com" {
		return ""
	}
	return host
}

func newFromText(whole, host, owner, repo, num string) (WorkItem, error) {
	if num == "" || num[0] < '1' || num[0] > '9' {
		return WorkItem{}, badRef(whole, strconv.Quote(num)+" is no item number")
	}
	n, err := strconv.ParseInt(num, 10, 32)
	if err != nil {
		return WorkItem{}, badRef(whole, strconv.Quote(num)+" is no item number")
	}
	w, err := NewWorkItem(host, owner, repo, int(n))
	if err != nil {
		return WorkItem{}, fmt.Errorf("work item %q: %w", whole, err)
	}
	return w, nil
}

func badRef(s, why string) error {
	return fmt.Errorf("work item %q: %s (write github:OWNER/REPO#N): %w", s, why, ErrInvalid)
}

// jsonItem is the form of a work item in session files and JSON output.
type jsonItem struct {
	Ref      string `json:"ref"`
	Provider string `json:"provider"`
	Host     string `json:"host,omitempty"`
	Owner    string `json:"owner"`
	Repo     string `json:"repo"`
	Number   int    `json:"number"`
}

// MarshalJSON writes ref, provider, host (where there is one), owner, repo and number.
func (w WorkItem) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonItem{w.Ref(), w.Provider, w.Host, w.Owner, w.Repo, w.Number})
}

// UnmarshalJSON reads what MarshalJSON writes; the ref decides, and parts that contradict it are an error.
func (w *WorkItem) UnmarshalJSON(b []byte) error {
	var j jsonItem
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("work item: %w", err)
	}
	item, err := ParseRef(j.Ref)
	if err != nil {
		return err
	}
	parts, err := NewWorkItem(j.Host, j.Owner, j.Repo, j.Number)
	if err != nil || parts.Key() != item.Key() {
		return fmt.Errorf("work item %q: owner, repo and number beside it name another item: %w", j.Ref, ErrInvalid)
	}
	*w = item
	return nil
}

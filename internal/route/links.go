package route

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// closingKeyword matches one of GitHub's closing keywords and the issue behind it. What stands before the keyword and
// behind the number is checked apart.
var closingKeyword = regexp.MustCompile(`(?i)(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?:[ \t]*:[ \t]*|[ \t]+)` +
	`(?:#([0-9]{1,10})|([a-z0-9_-]+)/([a-z0-9._-]+)#([0-9]{1,10})|GH-([0-9]{1,10})|` +
	`(https?)://([a-z0-9.:-]+)/([a-z0-9_-]+)/([a-z0-9._-]+)/issues/([0-9]{1,10}))`)

// closes returns the issues that a pull request's text says it closes, in order and without duplicates. A number alone is
// an issue of the pull request's own repository.
func closes(pull loop.WorkItem, text string) []loop.WorkItem {
	var items []loop.WorkItem
	text = said(text)
	for _, at := range closingKeyword.FindAllStringSubmatchIndex(text, -1) {
		start, end := at[0], at[1]
		if partOfWord(text[:start], text[end:]) || negated(text[:start]) {
			continue
		}
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		item, ok := closed(pull, group)
		if ok && !slices.ContainsFunc(items, func(o loop.WorkItem) bool { return o.Key() == item.Key() }) {
			items = append(items, item)
		}
	}
	return items
}

// closed reads the groups of closingKeyword.
func closed(pull loop.WorkItem, group func(int) string) (loop.WorkItem, bool) {
	host, owner, repo := pull.Host, pull.Owner, pull.Repo
	number := group(1) + group(5)
	switch {
	case group(4) != "":
		owner, repo, number = group(2), group(3), group(4)
	case group(10) != "":
		host = loop.URLHost(&url.URL{Scheme: strings.ToLower(group(6)), Host: group(7)})
		owner, repo, number = group(8), group(9), group(10)
	}
	n, err := strconv.Atoi(number)
	if err != nil || number[0] == '0' {
		return loop.WorkItem{}, false
	}
	item, err := loop.NewWorkItem(host, owner, repo, n)
	return item, err == nil
}

var (
	wordBefore = regexp.MustCompile(`[\pL\pN_/.#-]$`)
	wordAfter  = regexp.MustCompile(`^[\pL\pN_]`)
)

// partOfWord reports whether a keyword or a number is only a piece of what stands there, as in prefixes #5 or #5th.
func partOfWord(before, after string) bool {
	return wordBefore.MatchString(before[max(0, len(before)-8):]) || wordAfter.MatchString(after)
}

// negated reports whether the words before a keyword take it back: a "not" among the last three of the same clause, or at
// the very end of the line before.
func negated(before string) bool {
	before = before[max(0, len(before)-200):]
	clause := before[strings.LastIndexAny(before, ".,;:!?()\r\n")+1:]
	words := strings.Fields(clause)
	if len(words) == 0 {
		above := strings.TrimRight(before, " \t")
		above = strings.TrimSuffix(strings.TrimSuffix(above, "\n"), "\r")
		words = strings.Fields(above[strings.LastIndexAny(above, ".,;:!?()\r\n")+1:])
		words = words[max(0, len(words)-1):]
	}
	return slices.ContainsFunc(words[max(0, len(words)-3):], isNot)
}

func isNot(word string) bool {
	word = strings.Trim(strings.ToLower(strings.ReplaceAll(word, "’", "'")), "*_~\"'")
	return word == "not" || word == "never" || word == "cannot" || strings.HasSuffix(word, "n't")
}

package loop

import "strings"

// Marker ends everything that Loop and its agents post on GitHub. A comment whose last line it is comes from us and is
// never handed to an agent, so that no agent answers itself.
const Marker = "<!-- loop -->"

// HasMarker reports whether the last line of a comment is the marker. A marker elsewhere, such as in a reply that quotes
// one of our comments, says nothing about who wrote it.
func HasMarker(body string) bool {
	body = strings.TrimSpace(body)
	last := body[strings.LastIndexAny(body, "\r\n")+1:]
	return strings.TrimSpace(last) == Marker
}

// AddMarker returns body with the marker as its last line, and body itself where it is there already.
func AddMarker(body string) string {
	if HasMarker(body) {
		return body
	}
	body = strings.TrimRight(body, " \t\r\n")
	if body == "" {
		return Marker
	}
	return body + "\n\n" + Marker
}

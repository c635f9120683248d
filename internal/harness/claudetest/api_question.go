package claudetest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// question is the part of a Messages request that the API looks at.
type question struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []message         `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
}

// request reads the conversation. A question without tools is not a turn of it: the program asks for titles and summaries
// with those. After an interrupted turn one message holds several prompts; the newest is its last text.
func (q question) request() Request {
	rec := Request{Side: len(q.Tools) == 0}
	for i, m := range q.Messages {
		if m.Role != "user" {
			continue
		}
		if results := m.results(); len(results) > 0 {
			if i == len(q.Messages)-1 {
				rec.Result = strings.Join(results, "\n")
			}
			continue
		}
		if texts := m.texts(); len(texts) > 0 {
			rec.Prompt = texts[len(texts)-1]
			rec.Turns++
		}
	}
	return rec
}

func (m message) blocks() []block {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var blocks []block
	_ = json.Unmarshal(m.Content, &blocks) // what is no content has no blocks
	return blocks
}

var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>\s*`)

// texts returns what a person or a program wrote, without the reminders that Claude Code puts around it.
func (m message) texts() []string {
	var texts []string
	for _, b := range m.blocks() {
		if t := strings.TrimSpace(reminder.ReplaceAllString(b.Text, "")); b.Type == "text" && t != "" {
			texts = append(texts, t)
		}
	}
	return texts
}

// results returns what tools brought.
func (m message) results() []string {
	var results []string
	for _, b := range m.blocks() {
		if b.Type == "tool_result" {
			results = append(results, strings.Join(message{Content: b.Content}.texts(), "\n"))
		}
	}
	return results
}

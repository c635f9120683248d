package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// printer writes what commands say. Whatever it is given may come from the network.
type printer struct {
	stdout, stderr io.Writer
	json           bool
	terminal       bool // stdout is one
	colour         bool
}

func (p *printer) configure(asJSON bool, getenv func(string) string) {
	p.json = asJSON
	p.terminal = isTerminal(p.stdout)
	p.colour = p.terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// print writes value as JSON, or what table writes, as the person wants it.
func (p *printer) print(value any, table func(t *table)) error {
	if p.json {
		return p.printJSON(value, "  ")
	}
	t := p.table()
	table(t)
	return t.flush()
}

// printJSON writes one value and a newline; on one line if indent is empty.
func (p *printer) printJSON(value any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return p.write(safeJSON(b.String()))
}

// line writes one line for people.
func (p *printer) line(format string, args ...any) error {
	return p.write(safeLine(fmt.Sprintf(format, args...)) + "\n")
}

func (p *printer) write(s string) error {
	if _, err := io.WriteString(p.stdout, s); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// warn tells the person something beside the answer.
func (p *printer) warn(message string) {
	_, _ = fmt.Fprintf(p.stderr, "loopctl: warning: %s\n", safeLine(message))
}

// note tells the person something that is no trouble, such as that a list is empty.
func (p *printer) note(format string, args ...any) {
	_, _ = fmt.Fprintln(p.stderr, safeLine(fmt.Sprintf(format, args...)))
}

// complain says why loopctl ends with another code than 0.
func (p *printer) complain(message string) {
	_, _ = fmt.Fprintf(p.stderr, "loopctl: %s\n", safeText(message))
}

// table aligns cells in columns. Every cell is made safe, and one line.
type table struct {
	out     *printer
	tab     *tabwriter.Writer
	painted []bool // the columns that tell a state, coloured where there is colour
}

func (p *printer) table() *table {
	return &table{out: p, tab: tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)}
}

// header begins the table with the names of its columns.
func (t *table) header(names ...string) {
	t.painted = make([]bool, len(names))
	for i, name := range names {
		t.painted[i] = t.out.colour && (name == "STATUS" || name == "STATE")
	}
	t.row(names...)
}

func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cell = safeLine(cell)
		if cell == "" {
			cell = "-"
		}
		if i < len(t.painted) && t.painted[i] {
			cell = paint(cell)
		}
		cells[i] = cell
	}
	_, _ = fmt.Fprintln(t.tab, strings.Join(cells, "\t")) // flush tells of an error
}

// field is a row of a table without header: a name and its value. Nothing is written for an empty value.
func (t *table) field(name, value string) {
	if value != "" {
		t.row(name, value)
	}
}

// blank ends one table and begins another below it.
func (t *table) blank() {
	_ = t.tab.Flush()
	t.painted = nil
	_, _ = fmt.Fprintln(t.tab)
}

func (t *table) flush() error {
	if err := t.tab.Flush(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// paint colours a cell by its first word. Every colour takes as many bytes as none, or columns would not align.
func paint(cell string) string {
	const none, red, green, yellow, cyan = "39", "31", "32", "33", "36"
	colour := none
	word, _, _ := strings.Cut(cell, " ")
	switch strings.TrimSuffix(word, ",") {
	case "active", "done":
		colour = green
	case "paused", "waiting", "queued":
		colour = yellow
	case "failed":
		colour = red
	case "running":
		colour = cyan
	}
	return "\x1b[" + colour + "m" + cell + "\x1b[39m"
}

// ago says how far a time is away, for people; "" for no time.
func ago(t *time.Time) string {
	if t == nil {
		return ""
	}
	d := time.Since(*t)
	if d < 0 {
		return "in " + span(-d)
	}
	if d < time.Second {
		return "now"
	}
	return span(d) + " ago"
}

// span is a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// clock is a time of day as the person's wall shows it; "" for no time.
func clock(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// cut shortens a text for a table.
func cut(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return s
}

// counts reads «3 done, 1 failed»: the words in order first, then those that are not in it.
func counts[N int32 | int64](of map[string]N, order ...string) string {
	words := slices.Clone(order)
	for _, word := range sortedKeys(of) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	var parts []string
	for _, word := range words {
		if of[word] != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of[word], word))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

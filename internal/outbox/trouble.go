package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// troubleLasts is for how long what could not be posted is told of.
const troubleLasts = 24 * time.Hour

// Trouble says in sentences what could not be posted lately, one for each kind of thing and host, until one of that kind is posted
// again.
func (o *Outbox) Trouble(ctx context.Context) (sentences []string, err error) {
	rows, err := o.Journal.Read().QueryContext(ctx, "SELECT "+columns+", count FROM (SELECT *, count(*) AS count, max(seq) FROM letter AS l "+
		"WHERE ended_at > ? AND state <> ? AND seq > (SELECT coalesce(max(seq), 0) FROM letter AS p "+
		"WHERE p.ended_at <> 0 AND p.topic = l.topic AND p.host = l.host AND p.state = ?) GROUP BY host, topic) ORDER BY host, topic",
		time.Now().Add(-troubleLasts).UnixMicro(), Posted, Posted)
	if err != nil {
		return nil, o.explain(fmt.Errorf("read what could not be posted: %w", err))
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	mute := map[string]bool{}
	for rows.Next() {
		var n int
		e, err := scan(counted{rows, &n})
		if err != nil {
			return nil, err
		}
		switch {
		case e.State == Mute && mute[e.Item.Host]:
		case e.State == Mute:
			mute[e.Item.Host] = true
			sentences = append(sentences, "nothing is posted on GitHub: "+e.Error)
		case n > 1:
			sentences = append(sentences, fmt.Sprintf("%s (and %d more before)", e.complaint(), n-1))
		default:
			sentences = append(sentences, e.complaint())
		}
	}
	return sentences, rows.Err()
}

// counted scans a column more than a letter has.
type counted struct {
	row interface{ Scan(...any) error }
	n   *int
}

func (c counted) Scan(dest ...any) error { return c.row.Scan(append(dest, c.n)...) }

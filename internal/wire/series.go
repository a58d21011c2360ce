package wire

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Series holds figures over time, the retries that fall due, and the first due jobs.
type Series struct {
	Since  job.Micros    `json:"since"`
	Until  job.Micros    `json:"until"`
	Step   int64         `json:"step_seconds"`
	By     string        `json:"by,omitempty"`
	Points []store.Point `json:"points"`
	// Retries are nil if the query selects a queue or a kind.
	Retries *store.DueRetries `json:"retries_due,omitempty"`
	Heads   []store.Head      `json:"heads"`
}

// SeriesOf returns the JSON shape of the answer to a query.
func SeriesOf(q *store.SeriesQuery, points []store.Point, retries *store.DueRetries, heads []store.Head) Series {
	return Series{Since: q.Since, Until: q.Until, Step: int64(q.Step / time.Second), By: string(q.By), Points: append([]store.Point{}, points...),
		Retries: retries, Heads: append([]store.Head{}, heads...)}
}

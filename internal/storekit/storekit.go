// Package storekit contains small rules that the stores in this repository share. Stores
// outside this repository do not need this package, because the documentation of package store
// states each rule.
package storekit

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Settled handles an outcome that arrives for a run that has already ended. It returns nil
// when the same outcome was written before, and store.ErrLeaseLost otherwise. It compares the
// outcome with the job's present state and token. It also checks whether the run has the
// failure record of a crash, because only a rescue writes such a record. If the run has
// completed its job, for example in a transaction of its handler, Settled refuses every other
// outcome of that run. If the run has not completed its job, for example because a rescue has
// handed the job back, Settled refuses a success.
func Settled(state job.State, current job.Token, o *job.Outcome, crashed bool) error {
	if o.Token < 1 || state == job.None || current != o.Token || state == job.Running || crashed ||
		(state == job.Completed) != (o.To == job.Completed) {
		return store.ErrLeaseLost
	}
	return nil
}

// Repeats reports whether an earlier call of the same enqueue has created the stored job j. If
// not, j is a different job with the same id. Repeats compares those fields that are still
// stored. The last argument says whether a person has replaced the payload, which may also
// have changed a unique key.
func Repeats(j *job.Job, n *job.New, replaced bool) bool {
	if j.Kind != n.Kind || j.Owner != n.Owner || j.Correlation != n.Correlation || j.Batch != n.Batch {
		return false
	}
	if replaced {
		return true
	}
	if j.Key != n.Key {
		return false
	}
	// A job in a later life, or an ended job, may have a changed payload or no payload.
	if j.Life > 1 || j.State == job.Completed || j.State == job.Cancelled {
		return true
	}
	return bytes.Equal(j.Payload, n.Payload)
}

// GroupMessage shortens the message that is stored with a group to at most
// store.GroupMessageMax bytes. It does not cut a character into pieces.
func GroupMessage(message string) string {
	most := store.GroupMessageMax
	if len(message) <= most {
		return message
	}
	for most > 0 && !utf8.RuneStart(message[most]) {
		most--
	}
	return message[:most]
}

// TooManyLanes returns the error for a job that needs a new lane when the store has no room
// for more lanes. The error wraps store.ErrTooLarge. A lane is a queue, a kind and a set of
// dependencies.
func TooManyLanes(queue, kind, deps string) error {
	return fmt.Errorf("queue %q, kind %q, dependencies %q: the store already has %d such combinations, which is the maximum; "+
		"use fewer names: %w", queue, kind, deps, job.LanesMax, store.ErrTooLarge)
}

// Waits contains those values of a waiting or retrying job that store.Live.Alter can change.
// The payload is not among them.
type Waits struct {
	Queue    string
	Priority int8
	// If Priority holds for this life only, Own is the job's permanent priority; otherwise it
	// is 0.
	Own      int8
	DueAt    job.Micros
	LifeAt   job.Micros
	Override []byte
}

// Altered returns the values that the job has after the change c at the given time. The last
// argument says whether the job has not run yet in its present life. The second result says
// whether an Original must be stored; the third says whether any value differs.
func (w Waits) Altered(c *store.Change, now job.Micros, fresh bool) (to Waits, kept, changed bool) {
	to = w
	if c.Queue != "" {
		to.Queue = c.Queue
	}
	if c.Priority != 0 {
		to.Priority, to.Own = c.Priority, 0
	}
	if c.Override != nil {
		to.Override = c.Override
	}
	switch {
	case c.Delay == nil, *c.Delay == 0 && w.DueAt <= now:
	default:
		if to.DueAt = c.DueAt(now); fresh {
			to.LifeAt = to.DueAt
		}
	}
	permanent := w.Own
	if permanent == 0 {
		permanent = w.Priority
	}
	kept = to.Queue != w.Queue || c.Priority != 0 && c.Priority != permanent || !bytes.Equal(to.Override, w.Override)
	changed = kept || to.Priority != w.Priority || to.Own != w.Own || to.DueAt != w.DueAt || to.LifeAt != w.LifeAt
	return to, kept, changed
}

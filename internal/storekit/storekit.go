// Package storekit holds small rules that the stores of redrive share. Stores of other
// projects do not need it: the contract in package store states each rule.
package storekit

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Settled decides about an outcome whose run is not running any more. It returns nil
// when the same outcome was written before, else store.ErrLeaseLost. It compares what
// the first write left: the job's present state and token, and whether the run has a
// failure record of a crash, which only a rescue writes.
func Settled(state job.State, current, asked job.Token, crashed bool) error {
	if asked < 1 || state == job.None || current != asked || state == job.Running || crashed {
		return store.ErrLeaseLost
	}
	return nil
}

// Repeats reports whether a stored job is the job of a repeated enqueue, and not
// another job with the same id. It compares the fields that are still stored.
func Repeats(j *job.Job, n *job.New) bool {
	if j.Kind != n.Kind || j.Owner != n.Owner || j.Correlation != n.Correlation || j.Key != n.Key || j.Batch != n.Batch {
		return false
	}
	if j.Life > 1 || j.State == job.Completed || j.State == job.Cancelled { // the payload may have been changed or removed
		return true
	}
	return bytes.Equal(j.Payload, n.Payload)
}

// GroupMessage returns the start of a message that is kept with its group: at most
// store.GroupMessageMax bytes, cut between two characters.
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

// TooManyLanes returns the store.ErrTooLarge for a job whose queue, kind and
// dependencies need a new lane when the store has no room for one.
func TooManyLanes(queue, kind, deps string) error {
	return fmt.Errorf("queue %q, kind %q, dependencies %q: the store has %d such combinations already, the most it keeps; "+
		"use fewer names: %w", queue, kind, deps, job.LanesMax, store.ErrTooLarge)
}

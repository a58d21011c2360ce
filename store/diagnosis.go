package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// ErrSchema is returned by a store's Open, wrapped, when the schema of the database
// does not fit this program.
var ErrSchema = errors.New("schema version does not fit")

// Schema is the state of a database's schema.
type Schema struct {
	Version    int64 `json:"version"`         // the schema of the database; 0 means that the database is empty
	Known      int64 `json:"known"`           // the newest schema that this program knows
	Compatible int64 `json:"compatible_from"` // the oldest program that may use the database, given by the program's schema
}

// Fits returns an ErrSchema when this program may not use the database. The error names
// both schema versions and says what to do.
func (s Schema) Fits() error {
	if s.Version > s.Known && s.Compatible > s.Known {
		return fmt.Errorf("%w: the database has schema %d, which needs a program that knows schema %d; "+
			"this one knows %d: install a newer redrive", ErrSchema, s.Version, s.Compatible, s.Known)
	}
	return nil
}

// Findings are the results of examining a database.
type Findings struct {
	Jobs map[string]int64 `json:"jobs"` // number of jobs by state, counted from the rows
	// Oldest is the job that has been due for the longest time.
	Oldest *DueJob `json:"oldest_due,omitempty"`
	// Expired is the number of runs whose lease is over. ExpiredAt is when the oldest
	// of these leases ended.
	Expired   int64      `json:"expired_leases"`
	ExpiredAt job.Micros `json:"oldest_expired_lease,omitempty"`

	// Due holds the oldest due job of each queue and kind, oldest first, at most
	// DueLanesMax.
	Due       []DueLane `json:"due"`
	Processes []Process `json:"processes"`
	// Space is the space of the file system that holds the database; nil when it is not
	// known.
	Space *Space `json:"space,omitempty"`
	// Deaths are the times of the newest deaths, newest first, at most DeathsMax.
	Deaths []job.Micros `json:"-"`
	// Classes counts the pending dead letters by the class of their group.
	Classes []PendingClass `json:"pending_by_class"`
	// OldestEnded is the end of the oldest completed or cancelled job that retention may
	// remove, and OldestEvent the time of the oldest such event; 0 when no such row exists.
	OldestEnded job.Micros `json:"oldest_ended,omitempty"`
	OldestEvent job.Micros `json:"oldest_event,omitempty"`
	// CounterLag is the age of the oldest commit that the table of counters does not
	// contain yet.
	CounterLag time.Duration `json:"counter_lag_ns"`
	// ClockAhead is how far the clock of the store is ahead of the clock of this machine;
	// it is negative when it is behind.
	ClockAhead time.Duration `json:"clock_ahead_ns"`

	// Problems say what is wrong and what to do about it; a healthy database has none.
	Problems []string `json:"problems"`
}

// Limits of Findings.
const (
	DueLanesMax = 1_000
	DeathsMax   = 1_000
)

// DueLane is the oldest due job of a queue and kind.
type DueLane struct {
	DueJob
	Paused bool `json:"paused"` // a person has paused the queue
}

// Space is the size of a file system, and the part of it that the program may still use,
// in bytes.
type Space struct {
	Free  int64 `json:"free"`
	Total int64 `json:"total"`
}

// PendingClass is the number of pending dead letters in the groups of one class.
type PendingClass struct {
	Class   string `json:"class"`
	Groups  int64  `json:"groups"`
	Pending int64  `json:"pending"`
}

// DueJob is a job that is due and has not started.
type DueJob struct {
	ID    job.ID     `json:"id"`
	Queue string     `json:"queue"`
	Kind  string     `json:"kind"`
	RunAt job.Micros `json:"run_at"`
}

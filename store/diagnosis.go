package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// ErrSchema says that the schema of the database does not fit this program. The Open function
// of a store returns an error that wraps it.
var ErrSchema = errors.New("schema version does not fit")

// Schema is the state of a database's schema.
type Schema struct {
	Version    int64 `json:"version"`         // the version of the database's schema; 0 means that the database is empty
	Known      int64 `json:"known"`           // the newest schema version that this program knows
	Compatible int64 `json:"compatible_from"` // the oldest schema version that a program must know to use the database
	// Foreign is true when the database file has tables, but none of redrive. Only SQLite reports it.
	Foreign bool `json:"foreign,omitempty"`
	// Differs says that a build from before the first release made the tables of schema 1, and
	// that they differ from those that this program makes.
	Differs bool `json:"differs"`
}

// Fits returns an ErrSchema when this program may not use the database. The error says what does
// not fit, and what the user can do.
func (s Schema) Fits() error {
	if s.Version > s.Known && s.Compatible > s.Known {
		return fmt.Errorf("%w: the database has schema %d, which needs a program that knows schema %d; "+
			"this one knows %d: install a newer redrive", ErrSchema, s.Version, s.Compatible, s.Known)
	}
	if s.Differs {
		return fmt.Errorf("%w: another build from before the first release made the database, and its tables of schema 1 "+
			"differ from those of this program: make a new database, or use the build that made this one", ErrSchema)
	}
	return nil
}

// Findings are the results of examining a database.
type Findings struct {
	Jobs map[string]int64 `json:"jobs"` // number of jobs by state, counted from the rows
	// Oldest is the job that has been due for the longest time.
	Oldest *DueJob `json:"oldest_due,omitempty"`
	// Expired is the number of runs whose lease has expired. ExpiredAt is the time at which
	// the first of these leases expired.
	Expired   int64      `json:"expired_leases"`
	ExpiredAt job.Micros `json:"oldest_expired_lease,omitempty"`

	// Due holds the oldest due job of each queue and kind, sorted by age, the oldest first. It
	// has at most DueLanesMax entries.
	Due       []DueLane `json:"due"`
	Processes []Process `json:"processes"`
	// Space is the space of the file system that holds the database. It is nil when the space
	// is not known.
	Space *Space `json:"space,omitempty"`
	Bytes int64  `json:"-"` // size of the database, or of redrive's tables with their indexes
	// Deaths are the times of the newest deaths, the newest first, at most DeathsMax.
	Deaths []job.Micros `json:"-"`
	// Classes counts the pending dead letters by the class of their group.
	Classes []PendingClass `json:"pending_by_class"`
	// Notices says what keeps notices from their recipients.
	Notices NoticeFindings `json:"notices"`
	// OldestEnded is the time when the oldest completed or cancelled job ended. OldestEvent is
	// the time of the oldest event. Both count only rows that retention may remove; 0 when
	// there is no such row.
	OldestEnded job.Micros `json:"oldest_ended,omitempty"`
	OldestEvent job.Micros `json:"oldest_event,omitempty"`
	// CounterLag is the age of the oldest commit that the table of counters does not
	// contain yet.
	CounterLag time.Duration `json:"counter_lag_ns"`
	// ClockAhead is the store's time minus the time of this machine. It is negative when the
	// store's clock is behind.
	ClockAhead time.Duration `json:"clock_ahead_ns"`

	// Problems are sentences that say what is wrong and what a person should do. A healthy
	// database has no problems.
	Problems []string `json:"problems"`
}

// NoticeFindings are the notices that nobody gets.
type NoticeFindings struct {
	Dead    int64    `json:"dead"`              // number of notices that are pending dead letters
	Off     []string `json:"off,omitempty"`     // endpoints that the rules name and that are off
	Missing []string `json:"missing,omitempty"` // endpoints that the rules name and that do not exist
}

// Maximum numbers of entries in Findings.
const (
	DueLanesMax = 1_000
	DeathsMax   = 1_000
)

// DueLane is the oldest due job of one queue and kind.
type DueLane struct {
	DueJob
	Paused bool `json:"paused"` // whether a person has paused the queue
}

// Space is the size of a file system, and how much of it the program may still use. Both are
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
	// those of the groups to which nobody is assigned, and their pending dead letters
	Unassigned        int64 `json:"unassigned_groups"`
	UnassignedPending int64 `json:"unassigned_pending"`
}

// DueJob is a job that is due and has not started.
type DueJob struct {
	ID    job.ID     `json:"id"`
	Queue string     `json:"queue"`
	Kind  string     `json:"kind"`
	RunAt job.Micros `json:"run_at"`
}

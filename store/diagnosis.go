package store

import (
	"errors"
	"fmt"

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

	// Problems say what is wrong and what to do about it; a healthy database has none.
	Problems []string `json:"problems"`
}

// DueJob is a job that is due and has not started.
type DueJob struct {
	ID    job.ID     `json:"id"`
	Queue string     `json:"queue"`
	Kind  string     `json:"kind"`
	RunAt job.Micros `json:"run_at"`
}

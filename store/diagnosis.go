package store

import (
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
)

// ErrSchema is in the error of a store's Open when the database's schema does not
// fit this program.
var ErrSchema = errors.New("schema version does not fit")

// Schema is the state of a database's schema.
type Schema struct {
	Version    int64 `json:"version"`         // of the database; 0 means that it is empty
	Known      int64 `json:"known"`           // the newest this program knows
	Compatible int64 `json:"compatible_from"` // oldest program that may use it
}

// Fits returns an ErrSchema that names both versions and the cure when this
// program may not use the database.
func (s Schema) Fits() error {
	if s.Version > s.Known && s.Compatible > s.Known {
		return fmt.Errorf("%w: the database has schema %d, which needs a program that knows schema %d; "+
			"this one knows %d: install a newer redrive", ErrSchema, s.Version, s.Compatible, s.Known)
	}
	return nil
}

// Findings are what the examination of a database finds, whatever its store.
type Findings struct {
	Jobs map[string]int64 `json:"jobs"` // by state, counted anew
	// Oldest is the job that is due for the longest time.
	Oldest *DueJob `json:"oldest_due,omitempty"`
	// Expired is the number of runs whose lease is over, ExpiredAt since when the
	// oldest of them is.
	Expired   int64      `json:"expired_leases"`
	ExpiredAt job.Micros `json:"oldest_expired_lease,omitempty"`

	// Problems say what is wrong and what to do about it; a healthy database has none.
	Problems []string `json:"problems"`
}

// DueJob is a job that could run.
type DueJob struct {
	ID    job.ID     `json:"id"`
	Queue string     `json:"queue"`
	Kind  string     `json:"kind"`
	RunAt job.Micros `json:"run_at"`
}

// Package agent lets one process control job systems that run in other processes, which may be
// written in any language. An agent is a process that sets up one job system and carries out
// requests, which are lines of JSON on its standard input. The parent process controls an agent
// through a [Process].
package agent

import (
	"context"
)

// Config is the configuration of an agent and the first line that it gets.
type Config struct {
	System string `json:"system"`
	// If Tuned is true, the system gets the settings that its own documents or benchmarks recommend
	// for speed, instead of its defaults.
	Tuned bool `json:"tuned"`
	// Address is the URL of the PostgreSQL or Redis server.
	Address string `json:"address"`
	// Dir is the data directory of a system without a server.
	Dir string `json:"dir"`
	// If Create is true, the agent creates the tables.
	Create bool `json:"create"`
	// Jobs is an upper limit: the number of each job is smaller than Jobs.
	Jobs int `json:"jobs"`
	// Workers is the number of concurrent workers in this process.
	Workers int `json:"workers"`
	// Producers is the number of concurrent enqueues in this process.
	Producers int `json:"producers"`
	// Payload is the size of each job's JSON in bytes.
	Payload int `json:"payload"`
	// Failing is the percentage of jobs that fail; such a job has only one attempt.
	Failing int `json:"failing"`
	// Ledger is the path of two files, without their endings. The agent writes each job whose
	// enqueue was acknowledged to the file .acked, and each job that it runs to the file .ran. It
	// does so before it continues. "" means no ledger.
	Ledger string `json:"ledger"`
	// If Tell is true, the agent sends a message at each start of a job.
	Tell bool `json:"tell"`
}

// Counts are the numbers of job rows in a system's store.
type Counts struct {
	Unfinished int `json:"unfinished"` // number of jobs that are still to be run
	Finished   int `json:"finished"`   // number of jobs that have succeeded and are kept as history
	Dead       int `json:"dead"`       // number of jobs that have failed permanently
}

// The states of a job, as a system reports them.
const (
	Unknown    = '-'
	Unfinished = 'u'
	Finished   = 'f'
)

// System is one job system with a separate store.
type System interface {
	// Bulk stores n jobs, whose numbers begin with the given one. It uses the fastest call of the
	// system and stores [BulkStep] jobs with each call.
	Bulk(ctx context.Context, first, n int) error
	// Enqueue stores one job and, after the commit, returns the id that the system has given to the
	// job. It is called concurrently.
	Enqueue(ctx context.Context, n int) (id string, err error)
	// Start begins to run jobs. It runs them until Stop.
	Start(ctx context.Context) error
	// Stop ends the work that Start began and waits until the work has ended.
	Stop(ctx context.Context) error
	// Unfinished counts the jobs in the store that are still to be run. A job whose completion is only in
	// the memory of the system counts as unfinished.
	Unfinished(ctx context.Context) (int, error)
	// Counts counts all job rows in the store.
	Counts(ctx context.Context) (Counts, error)
	// Known returns Unknown, Unfinished or Finished for each id.
	Known(ctx context.Context, ids []string) ([]byte, error)
	// Durability reads those settings of the connection that decide about durability.
	Durability(ctx context.Context) (string, error)
	Close() error
}

// BulkStep is the number of jobs per call of a bulk enqueue.
const BulkStep = 1000

// Floor is not a job system. It only runs the smallest number of statements that jobs need on the
// same storage.
type Floor interface {
	// Run does the work of the given number of jobs and returns its duration in seconds.
	Run(ctx context.Context, mode string, jobs int) (seconds float64, err error)
}

// Program is the code of an agent for one system.
type Program struct {
	// Open sets up a system.
	Open func(ctx context.Context, c Config, w *Work) (System, error)
	// Floor sets up a [Floor] instead of a job system.
	Floor func(ctx context.Context, c Config) (Floor, error)
	// Modules are the Go modules whose versions are published with the results.
	Modules []string
}

// Steps divides a bulk enqueue into steps of at most [BulkStep] jobs. It calls the given function
// for each step, with the first job number and the number of jobs.
func Steps(first, n int, store func(first, n int) error) error {
	for end := first + n; first < end; first += BulkStep {
		if err := store(first, min(BulkStep, end-first)); err != nil {
			return err
		}
	}
	return nil
}

// StateOf returns the state of a stored job.
func StateOf(finished bool) byte {
	if finished {
		return Finished
	}
	return Unfinished
}

// LookUp returns the state of each id.
func LookUp(states map[string]byte, ids []string) []byte {
	found := make([]byte, len(ids))
	for i, id := range ids {
		found[i] = Unknown
		if s, ok := states[id]; ok {
			found[i] = s
		}
	}
	return found
}

// Package agent lets one process drive job systems in others, whatever language
// they are written in: an agent is a process that sets a system up, and does what
// lines of JSON on its standard input tell it. The parent's side is [Process].
package agent

import (
	"context"
)

// Config tells an agent what it works on. It is the first line that it gets.
type Config struct {
	System string `json:"system"`
	// Tuned asks for the settings that the system's own documents or benchmarks
	// recommend for speed; otherwise its defaults are left alone.
	Tuned bool `json:"tuned"`
	// Address is where the server is: a URL of PostgreSQL or of Redis.
	Address string `json:"address"`
	// Dir is where a system without a server keeps its data.
	Dir string `json:"dir"`
	// Create asks for the tables to be made.
	Create bool `json:"create"`
	// Jobs is above every number of a job.
	Jobs int `json:"jobs"`
	// Workers is how many jobs run at a time in this process.
	Workers int `json:"workers"`
	// Producers is how many enqueue at a time in this process.
	Producers int `json:"producers"`
	// Payload is the size of each job's JSON, in bytes.
	Payload int `json:"payload"`
	// Failing is how many of 100 jobs fail, each in its only attempt.
	Failing int `json:"failing"`
	// Ledger is the path of files in which the agent writes down, before it goes
	// on, what it has been told is stored (.acked) and what it has run (.ran).
	// "" keeps none.
	Ledger string `json:"ledger"`
	// Tell asks for a message at each start of a job.
	Tell bool `json:"tell"`
}

// Counts are the rows of jobs that a system holds.
type Counts struct {
	Unfinished int `json:"unfinished"` // still to be run
	Finished   int `json:"finished"`   // succeeded: the history
	Dead       int `json:"dead"`       // failed for good
}

// What a system knows of a job.
const (
	Unknown    = '-'
	Unfinished = 'u'
	Finished   = 'f'
)

// System is one job system, opened on a store of its own.
type System interface {
	// Bulk stores n jobs, numbered from the first one, by the fastest way that
	// the system offers, in steps of [BulkStep].
	Bulk(ctx context.Context, first, n int) error
	// Enqueue stores one job and returns its name in the system once it is
	// committed as the setting promises. It is called from many goroutines.
	Enqueue(ctx context.Context, n int) (id string, err error)
	// Start begins to run jobs, until Stop.
	Start(ctx context.Context) error
	// Stop ends what Start began, and waits for it.
	Stop(ctx context.Context) error
	// Unfinished counts the jobs that are still to be run, in the store: what a
	// system keeps in memory is not done.
	Unfinished(ctx context.Context) (int, error)
	// Counts counts all rows of jobs in the store.
	Counts(ctx context.Context) (Counts, error)
	// Known tells for each name Unknown, Unfinished or Finished.
	Known(ctx context.Context, ids []string) ([]byte, error)
	// Durability tells what a connection of the system is set to, read back.
	Durability(ctx context.Context) (string, error)
	Close() error
}

// BulkStep is how many jobs are enqueued in one call where many are.
const BulkStep = 1000

// Floor is no system but the bare work on the same storage.
type Floor interface {
	// Run does the work of so many jobs and returns how many seconds it took.
	Run(ctx context.Context, mode string, jobs int) (seconds float64, err error)
}

// Program is what an agent can set up.
type Program struct {
	// Open sets a system up.
	Open func(ctx context.Context, c Config, w *Work) (System, error)
	// Floor sets a floor up instead.
	Floor func(ctx context.Context, c Config) (Floor, error)
	// Modules are those whose versions belong beside the numbers.
	Modules []string
}

// Steps calls store with the bounds of each step of a bulk enqueue.
func Steps(first, n int, store func(first, n int) error) error {
	for end := first + n; first < end; first += BulkStep {
		if err := store(first, min(BulkStep, end-first)); err != nil {
			return err
		}
	}
	return nil
}

// StateOf is what is known of a job that is stored.
func StateOf(finished bool) byte {
	if finished {
		return Finished
	}
	return Unfinished
}

// LookUp answers for each name what is known of it.
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

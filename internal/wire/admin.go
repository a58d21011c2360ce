package wire

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Problem is a mistake in a file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1
	Col     int    `json:"column"` // from 1
	Message string `json:"message"`
}

// FileCheck is what was found in a configuration.
type FileCheck struct {
	File     string    `json:"file"`
	Problems []Problem `json:"problems"`
}

// PolicyCheck is what was found in a policy file.
type PolicyCheck struct {
	File     string    `json:"file"`
	Policy   string    `json:"policy,omitempty"` // its name
	Hash     string    `json:"hash,omitempty"`
	Problems []Problem `json:"problems"`
	Notes    []string  `json:"notes,omitempty"` // names that the configuration does not have
}

// Schema is the schema of a database.
type Schema struct {
	Database string `json:"database"`
	Name     string `json:"schema_name,omitempty"` // with PostgreSQL
	store.Schema
}

// Migration is a change of the schema of a database.
type Migration struct {
	Database string `json:"database"`
	Name     string `json:"schema_name,omitempty"` // with PostgreSQL
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Steps    int    `json:"steps"`
}

// Cron is an entry of periodic jobs.
type Cron struct {
	Name       string     `json:"name"`
	Configured bool       `json:"configured"` // false: it fired before, and the configuration has it no longer
	Kind       string     `json:"kind,omitempty"`
	Queue      string     `json:"queue,omitempty"`
	Expression string     `json:"expression,omitempty"`
	Words      string     `json:"words,omitempty"` // the expression in words
	Zone       string     `json:"timezone,omitempty"`
	Next       job.Micros `json:"next,omitempty"`
	LastSlot   job.Micros `json:"last_slot,omitempty"`
	FiredAt    job.Micros `json:"fired_at,omitempty"`
	LastJob    job.ID     `json:"last_job,omitempty"` // the first job of the last slot
}

// CronList is a list of entries of periodic jobs.
type CronList struct {
	Entries []Cron `json:"entries"`
}

// Queue is a queue with its settings and what it holds.
type Queue struct {
	Name    string `json:"name"`
	Mode    string `json:"mode"`
	Workers int    `json:"workers,omitempty"` // of each process; 0 when it is not known
	Limit   int    `json:"limit,omitempty"`   // of all processes; 0 means no limit
	Rate    string `json:"rate,omitempty"`    // of all processes, such as "10/s"; "" means no limit
	// Set names the settings that were made by a person; they win over the
	// configuration.
	Set  []string         `json:"set,omitempty"`
	Jobs map[string]int64 `json:"jobs,omitempty"` // by state
}

// QueueList is a list of queues.
type QueueList struct {
	Queues []Queue `json:"queues"`
}

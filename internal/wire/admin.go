package wire

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Problem is a mistake in a file, with the place where it was found.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // Line counts from 1.
	Col     int    `json:"column"` // Col counts from 1.
	Message string `json:"message"`
}

// FileCheck lists the mistakes that were found in a configuration file.
type FileCheck struct {
	File     string    `json:"file"`
	Problems []Problem `json:"problems"`
}

// PolicyCheck lists the mistakes that were found in a policy file.
type PolicyCheck struct {
	File     string    `json:"file"`
	Policy   string    `json:"policy,omitempty"` // Policy is the name of the policy.
	Hash     string    `json:"hash,omitempty"`
	Problems []Problem `json:"problems"`
	// Notes lists names in the policy, such as kinds, that the configuration does not have.
	Notes []string `json:"notes,omitempty"`
}

// Schema is the schema of a database.
type Schema struct {
	Database string `json:"database"`
	Name     string `json:"schema_name,omitempty"` // Name is set with PostgreSQL only.
	store.Schema
}

// Migration says which changes were made to the schema of a database.
type Migration struct {
	Database string `json:"database"`
	Name     string `json:"schema_name,omitempty"` // Name is set with PostgreSQL only.
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Steps    int    `json:"steps"`
}

// Cron is a cron entry: it enqueues jobs at set times.
type Cron struct {
	Name string `json:"name"`
	// Configured is false for an entry that fired in the past and is no longer in the
	// configuration.
	Configured bool       `json:"configured"`
	Kind       string     `json:"kind,omitempty"`
	Queue      string     `json:"queue,omitempty"`
	Expression string     `json:"expression,omitempty"`
	Words      string     `json:"words,omitempty"` // Words describes the expression in words.
	Zone       string     `json:"timezone,omitempty"`
	Next       job.Micros `json:"next,omitempty"`
	LastSlot   job.Micros `json:"last_slot,omitempty"`
	FiredAt    job.Micros `json:"fired_at,omitempty"`
	LastJob    job.ID     `json:"last_job,omitempty"` // LastJob is the first job that the last slot enqueued.
}

// CronList is a list of cron entries.
type CronList struct {
	Entries []Cron `json:"entries"`
}

// Queue is a queue with its settings and its numbers of jobs.
type Queue struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
	// Workers is the number of workers in each process. 0 means that it is not known.
	Workers int `json:"workers,omitempty"`
	// Limit is how many jobs of the queue may run at once in all processes together. 0
	// means no limit.
	Limit int `json:"limit,omitempty"`
	// Rate is how many jobs of the queue may start in all processes together, such as
	// "10/s". "" means no limit.
	Rate string `json:"rate,omitempty"`
	// Set names the settings that a person made. They take precedence over the
	// configuration.
	Set  []string         `json:"set,omitempty"`
	Jobs map[string]int64 `json:"jobs,omitempty"` // Jobs counts the jobs by state.
}

// QueueList is a list of queues.
type QueueList struct {
	Queues []Queue `json:"queues"`
}

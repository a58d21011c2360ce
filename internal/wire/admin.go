package wire

import (
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Problem is a mistake in a file and its position.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // number of the line, from 1
	Col     int    `json:"column"` // number of the column, from 1
	Message string `json:"message"`
}

// FileCheck lists the mistakes in a configuration file.
type FileCheck struct {
	File     string    `json:"file"`
	Problems []Problem `json:"problems"`
}

// PolicyCheck lists the mistakes in a policy file.
type PolicyCheck struct {
	File     string    `json:"file"`
	Policy   string    `json:"policy,omitempty"` // name of the policy
	Hash     string    `json:"hash,omitempty"`
	Problems []Problem `json:"problems"`
	// Notes names those kinds and queues of the policy that are not in the configuration, and texts for users that are
	// not always true.
	Notes []string `json:"notes,omitempty"`
}

// Schema describes the schema of a database.
type Schema struct {
	Database string `json:"database"`
	Name     string `json:"schema_name,omitempty"` // name of the schema; set for PostgreSQL only
	store.Schema
}

// Migration describes a change of the schema of a database.
type Migration struct {
	Database string `json:"database"`
	Name     string `json:"schema_name,omitempty"` // name of the schema; set for PostgreSQL only
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Steps    int    `json:"steps"`
}

// Verdict is the part of a report about a database that says which findings are outside the limits.
type Verdict struct {
	Warnings []words.Warning `json:"warnings"`
}

// Cron is a cron entry. It enqueues jobs at the times of a cron expression.
type Cron struct {
	Name string `json:"name"`
	// Configured is false if the entry has enqueued jobs in the past but is no longer in
	// the configuration.
	Configured bool       `json:"configured"`
	Kind       string     `json:"kind,omitempty"`
	Queue      string     `json:"queue,omitempty"`
	Expression string     `json:"expression,omitempty"`
	Words      string     `json:"words,omitempty"` // description of the expression in words
	Zone       string     `json:"timezone,omitempty"`
	Next       job.Micros `json:"next,omitempty"` // the next slot; left out while the entry is paused
	Paused     bool       `json:"paused,omitempty"`
	PausedAt   job.Micros `json:"paused_at,omitempty"`
	LastSlot   job.Micros `json:"last_slot,omitempty"`
	FiredAt    job.Micros `json:"fired_at,omitempty"`
	LastJob    job.ID     `json:"last_job,omitempty"` // the first of the jobs that the last slot has enqueued
}

// CronList is a list of cron entries.
type CronList struct {
	Entries []Cron `json:"entries"`
}

// CronSlots are the next slots of a cron entry or an expression.
type CronSlots struct {
	Expression string       `json:"expression"`
	Words      string       `json:"words"` // description of the expression in words
	Zone       string       `json:"timezone"`
	Slots      []job.Micros `json:"slots"`
}

// Queue is a queue with its settings and its numbers of jobs.
type Queue struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
	// Workers is the number of workers in each process; it is 0 if this number is not known.
	Workers int `json:"workers,omitempty"`
	// Limit is the largest number of jobs of the queue that run at the same time in all
	// processes together. 0 means no limit.
	Limit int `json:"limit,omitempty"`
	// Rate is the largest number of jobs of the queue that start per unit of time in all
	// processes together, such as "10/s". "" means no limit.
	Rate string `json:"rate,omitempty"`
	// Set lists the names of the settings that a person has changed. They have precedence
	// over the configuration.
	Set  []string         `json:"set,omitempty"`
	Jobs map[string]int64 `json:"jobs,omitempty"` // number of jobs by state
}

// QueueList is a list of queues.
type QueueList struct {
	Queues []Queue `json:"queues"`
}

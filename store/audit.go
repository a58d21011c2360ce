package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
)

// Audit is one recorded action of a person.
type Audit struct {
	Seq   int64      `json:"seq"`
	At    job.Micros `json:"at"`
	Actor string     `json:"actor"`
	// Action is "job.cancel", "job.retry", "job.alter", "jobs.cancel", "jobs.alter", "queue.set",
	// "policy.publish", "retention.remove", "schedule.pause", "schedule.resume", "schedule.run", "process.quiet",
	// "process.wake", "access.create", "access.change", "access.rotate", "access.revoke", "group.set", "group.merge", "group.unmerge", "group.note", "group.feedback", "group.label",
	// "job.note", "job.feedback", or one of the "dead_letter." and "redrive." actions (see
	// DeadLetters.Act and Redrives). For a retry, the field After shows the changes in the jobs;
	// see Change.MarshalJSON.
	Action string `json:"action"`
	Target string `json:"target"` // the changed object: a job id, the name of a queue, the hash of a policy, a filter, the number of a redrive, the name of a cron entry or a process, or the fingerprint of a group
	Reason string `json:"reason,omitempty"`
	Via    string `json:"via,omitempty"`   // how the request of the person reached redrive; see By.Via
	Owner  string `json:"owner,omitempty"` // the owner of jobs in whose name the person acted; see By.Owner
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// AuditFilter selects rows of the audit log. Zero fields select everything.
type AuditFilter struct {
	Actor string
	// Actions are the names of the actions to select, such as "job.retry". A name that ends with a
	// dot, such as "dead_letter.", selects all actions that begin with this name. At most
	// AuditActionsMax names are allowed.
	Actions []string
	Target  string     // the target: a job's id, a queue's name, a redrive's number or a policy's hash
	Since   job.Micros // only actions at or after this time
	Until   job.Micros // only actions before this time; 0 means no limit
	Before  int64      // only rows with a lower number; take it from the field Next of the previous page; 0 starts at the newest row
	Limit   int        // maximum number of rows, 1 to job.PageMax; 0 means 50
}

// AuditActionsMax is the maximum number of actions in an AuditFilter.
const AuditActionsMax = 100

// AuditPage is one page of the audit rows that a filter selects.
type AuditPage struct {
	Entries []Audit // the newest row comes first
	// Next is the value of Before for the next page; 0 on the last page. A page may have fewer
	// rows than its limit, or none, although a next page follows: the search stops after it
	// has examined a limited number of rows.
	Next     int64
	Searched job.Micros // the time of the oldest row that was examined; 0 on the last page
	Last     int64      // the number of the newest row of the log; 0 when the log is empty
}

// Matches reports whether the filter selects a row. It does not look at Before and Limit.
func (f *AuditFilter) Matches(a *Audit) bool {
	named := func(action string) bool {
		return action == a.Action || strings.HasSuffix(action, ".") && strings.HasPrefix(a.Action, action)
	}
	return (f.Actor == "" || f.Actor == a.Actor) && (f.Target == "" || f.Target == a.Target) &&
		a.At >= f.Since && (f.Until == 0 || a.At < f.Until) &&
		(len(f.Actions) == 0 || slices.ContainsFunc(f.Actions, named))
}

// Validate sets the default of Limit, or returns an ErrInvalid that names the wrong field and the
// limit of the field.
func (f *AuditFilter) Validate() error {
	switch {
	case f.Limit < 0 || f.Limit > job.PageMax:
		return fmt.Errorf("page of %d audit rows: a page has 1 to %d rows: %w", f.Limit, job.PageMax, ErrInvalid)
	case f.Before < 0:
		return fmt.Errorf("audit rows before number %d: the number must not be negative: %w", f.Before, ErrInvalid)
	case f.Since < 0 || f.Until < 0:
		return fmt.Errorf("audit rows by time: a time before 1970 cannot be stored: %w", ErrInvalid)
	case len(f.Actions) > AuditActionsMax:
		return fmt.Errorf("filter of audit rows: %d actions are named: at most %d actions are allowed: %w", len(f.Actions), AuditActionsMax, ErrInvalid)
	}
	if f.Limit == 0 {
		f.Limit = 50
	}
	return nil
}

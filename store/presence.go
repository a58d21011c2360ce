package store

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Presence is the register of the processes that work on a store.
type Presence interface {
	// Present registers a process, or reports that it is still alive, and returns what people have
	// ordered it to do and when the earliest lease expires. A process calls it every PresentEvery.
	// The first call of an instance stores all fields. Later calls store only the policy, the
	// slots, the number of running jobs and the programs that the process cannot start.
	//
	// A call with Left set removes the entry, because the process ends. Each call also looks for
	// other processes: it marks those that have been silent for SilentAfter, and removes entries
	// that are older than SilentKept. If a silent process has the same name as p, its entry is
	// removed at once, because p replaces that process.
	//
	// The store writes an event when a process is new, when it leaves, and when another
	// process marks it as silent. When a silent process reports again, the store writes an
	// event as for a new process. Other calls write no event. If the store already has
	// ProcessesMax processes, a call for a new process returns ErrTooLarge.
	Present(ctx context.Context, p Process) (Orders, error)
	// Processes returns the registered processes, sorted by name and instance.
	Processes(ctx context.Context) ([]Process, error)
	// OrderProcess orders all processes with this name to be quiet, or, if quiet is false,
	// withdraws this order. A quiet process claims no jobs and finishes the jobs that it runs. It
	// gets the order in the answer to its next call of Present. The order ends when the process
	// ends. The call writes one audit row, or no row if it changes nothing. ErrNotFound means that
	// no process with this name is registered.
	OrderProcess(ctx context.Context, by By, name string, quiet bool) error
}

// Times and limits of the register of processes.
const (
	PresentEvery = 10 * time.Second // time between two calls of Present by the same process
	SilentAfter  = time.Minute      // a process that has not called Present for this time is silent
	SilentKept   = 24 * time.Hour   // the entry of a silent process is removed after this time
	ProcessesMax = 10_000           // maximum number of registered processes
	// ProcessNamesMax is the maximum total size in bytes of the names of all queues of a
	// process, and likewise of its kinds. Each name counts as its length plus one byte.
	ProcessNamesMax = 64 << 10
)

// Process is a process that works on the store.
type Process struct {
	Name     string `json:"name"`     // the name of the process, which its leases also have as their holder; 1 to job.TextMax bytes
	Instance string `json:"instance"` // a text that differs for each start of the process, 1 to job.NameMax bytes
	What     string `json:"what"`     // what the process does, such as "work"; at most job.NameMax bytes
	Host     string `json:"host,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Version  string `json:"version,omitempty"` // version of redrive; at most job.TextMax bytes
	Build    string `json:"build,omitempty"`   // the build of the program, a text that the program chooses; at most job.TextMax bytes
	Policy   string `json:"policy,omitempty"`  // hash of the policy that the process uses now

	Queues  []string `json:"queues"`  // the queues that the process works on
	Kinds   []string `json:"kinds"`   // the kinds that the process can run
	Slots   int      `json:"slots"`   // number of jobs that the process can run at a time
	Running int      `json:"running"` // number of jobs that the process is running

	// Sick lists the programs that the process cannot start now, at most SickMax entries. The
	// process claims no jobs that need these programs. Sick is empty for a healthy process.
	Sick []Sickness `json:"sick,omitempty"`

	// Left is true in the last call of Present, when the process ends. The store sets the
	// other fields.
	Left      bool       `json:"-"`
	StartedAt job.Micros `json:"started_at"` // time of the first call of Present by this instance
	SeenAt    job.Micros `json:"seen_at"`    // time of the latest call of Present by this instance
	Quiet     bool       `json:"quiet"`      // whether a person has ordered the process to be quiet
	// Silent says that the latest call of Present was at least SilentAfter ago. In a Dump it
	// says that another process has marked this process as silent.
	Silent bool `json:"silent"`
}

// Sickness says that a process cannot start the program of a kind of jobs.
type Sickness struct {
	Kind  string `json:"kind,omitempty"` // "" means all kinds
	Cause string `json:"cause"`          // the error, one line of 1 to job.TextMax bytes
}

// SickMax is the largest number of entries in Process.Sick.
const SickMax = 100

// SickCause shortens the text of an error so that it fits Sickness.Cause.
func SickCause(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), job.TextMax)], ""))
	if text == "" {
		return "unknown"
	}
	return text
}

// HasSick reports whether the process cannot run jobs of a kind, and why.
func (p *Process) HasSick(kind string) (cause string, sick bool) {
	for _, s := range p.Sick {
		if s.Kind == "" || s.Kind == kind {
			return s.Cause, true
		}
	}
	return "", false
}

// Orders is the answer to a call of Present: the orders of people to the process, and the time when
// the process should look for expired leases.
type Orders struct {
	Quiet bool // the process must claim no jobs, and finish the jobs that it runs
	// NextExpiry is the time until the earliest lease of a running job expires; 0 if it has
	// expired, and Never when no job is running or the process leaves. So even an idle process
	// knows when the leases of other processes end, and can call Rescue in time if another process
	// is killed.
	NextExpiry time.Duration
}

// Validate returns an ErrInvalid or ErrTooLarge that names the field and its limit.
func (p *Process) Validate() error {
	if err := ValidProcess(p.Name); err != nil {
		return err
	}
	switch {
	case p.Instance == "" || len(p.Instance) > job.NameMax:
		return fmt.Errorf("process %q: the instance has %d bytes: it must have 1 to %d bytes: %w", p.Name, len(p.Instance), job.NameMax, ErrInvalid)
	case p.PID < 0 || p.Slots < 0 || p.Running < 0:
		return fmt.Errorf("process %q: pid %d, slots %d and running %d must not be negative: %w", p.Name, p.PID, p.Slots, p.Running, ErrInvalid)
	}
	for _, t := range [...]struct {
		field, value string
		max          int
	}{
		{"what", p.What, job.NameMax}, {"host", p.Host, job.TextMax}, {"version", p.Version, job.TextMax},
		{"build", p.Build, job.TextMax}, {"policy", p.Policy, job.NameMax},
	} {
		if len(t.value) > t.max {
			return fmt.Errorf("process %q: %s of %d bytes: at most %d bytes are allowed: %w", p.Name, t.field, len(t.value), t.max, ErrTooLarge)
		}
	}
	if len(p.Sick) > SickMax {
		return fmt.Errorf("process %q: the list of programs that cannot be started has %d entries: at most %d entries are allowed: %w", p.Name, len(p.Sick), SickMax, ErrTooLarge)
	}
	for _, s := range p.Sick {
		if s.Kind != "" {
			if err := ValidName("kind", s.Kind); err != nil {
				return fmt.Errorf("process %q: %w", p.Name, err)
			}
		}
		if len(s.Cause) < 1 || len(s.Cause) > job.TextMax || strings.Contains(s.Cause, "\n") {
			return fmt.Errorf("process %q: the cause of a sickness has %d bytes: it must be one line of 1 to %d bytes: %w", p.Name, len(s.Cause), job.TextMax, ErrInvalid)
		}
	}
	if err := validNames(p.Name, "queue", p.Queues); err != nil {
		return err
	}
	return validNames(p.Name, "kind", p.Kinds)
}

// ValidProcess checks the name of a process: 1 to job.TextMax bytes.
func ValidProcess(name string) error {
	if name == "" || len(name) > job.TextMax {
		return fmt.Errorf("process: the name has %d bytes: it must have 1 to %d bytes: %w", len(name), job.TextMax, ErrInvalid)
	}
	return nil
}

func validNames(process, what string, names []string) error {
	size := 0
	for _, name := range names {
		if err := ValidName(what, name); err != nil {
			return fmt.Errorf("process %q: %w", process, err)
		}
		size += len(name) + 1
	}
	if size > ProcessNamesMax {
		return fmt.Errorf("process %q: the names of its %d %ss have %d bytes: at most %d bytes are allowed: %w",
			process, len(names), what, size, ProcessNamesMax, ErrTooLarge)
	}
	return nil
}

// SilentBy reports whether the process is silent at the given time.
func (p *Process) SilentBy(now job.Micros) bool { return now.Sub(p.SeenAt) >= SilentAfter }

// ProcessEvent returns the event for a change of a process. Every store writes the same
// events; the store sets the cursors of the events.
func ProcessEvent(t event.Type, name string) event.Event { return event.Event{Type: t, Note: name} }

// The names of OrderProcess's actions in audit rows.
const (
	AuditQuiet = "process.quiet"
	AuditWake  = "process.wake"
)

// ProcessAudit returns the values for the audit row of an order: the action, and the state
// before and after it.
func ProcessAudit(quiet bool) (action, before, after string) {
	if quiet {
		return AuditQuiet, "awake", "quiet"
	}
	return AuditWake, "quiet", "awake"
}

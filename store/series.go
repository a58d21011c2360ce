package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
)

// Figures counts what happened to jobs in a minute, in an hour or in a longer time. The store's
// clock at the commit of a change decides to which minute the change belongs. Each attempt is
// counted once, in the queue in which it ran.
type Figures struct {
	Enqueued  int64 `json:"enqueued"`  // new jobs; a manual retry adds none
	Started   int64 `json:"started"`   // claims of a job by a worker
	Completed int64 `json:"completed"` // completed jobs, including those in Recovered
	Recovered int64 `json:"recovered"` // jobs that completed, but not at the first attempt of their first life
	Failed    int64 `json:"failed"`    // attempts that failed
	Dead      int64 `json:"dead"`      // jobs that died, including those in Exhausted
	Exhausted int64 `json:"exhausted"` // jobs that died, but not at the first attempt of their first life
	Crashed   int64 `json:"crashed"`   // runs whose lease ended before their worker reported an outcome
	Cancelled int64 `json:"cancelled"` // cancelled jobs
	Retries   int64 `json:"retries"`   // attempts, except the first attempt of a job's first life
	RetryCost int64 `json:"retry_cost_microusd"`
	// Cost is the cost of all runs, in millionths of a US dollar. The cost of a run that was snoozed or
	// handed back is counted with the next outcome that stores a cost; see job.Outcome.
	Cost int64 `json:"cost_microusd"`
	// RunTime is the sum of the times from claim to end of all attempts that completed or failed.
	// WaitTime is the sum of the times from the due time of a job to its claim. Both are in
	// microseconds.
	RunTime  int64 `json:"run_us"`
	WaitTime int64 `json:"wait_us"`

	Classes []ClassFigures `json:"-"` // sorted by class
}

// ClassFigures counts the failures of one class, and the results of the retries after them. A retry
// by a person begins another life, so it is not counted here.
type ClassFigures struct {
	Class  string
	Failed int64 // attempts that failed with the class
	Dead   int64 // jobs that died of the class
	// Recovered is the number of jobs that completed in a life in which a failure of the class was
	// retried. Exhausted is the number of jobs that died at an attempt in such a life, of this
	// class or of another one.
	Recovered int64
	Exhausted int64
	Retries   int64 // attempts that followed a failure of the class in the same life
	RetryCost int64 // their cost, in millionths of a US dollar
}

// CountRetries adds an attempt with the given outcome to the figures by class.
func (f *Figures) CountRetries(o *job.Outcome) {
	for i, class := range o.Retried {
		c := f.Class(class)
		if i == 0 {
			c.Retries++
			c.RetryCost += o.Cost
		}
		switch o.To {
		case job.Completed:
			c.Recovered++
		case job.Dead:
			c.Exhausted++
		case job.None, job.Waiting, job.Retrying, job.Running, job.Cancelled:
		}
	}
}

// Attempts returns the number of attempts that ended.
func (f *Figures) Attempts() int64 { return f.Completed + f.Failed }

// MeanRun returns the mean time from claim to end of an attempt. It returns 0 if no attempt ended.
func (f *Figures) MeanRun() time.Duration { return mean(f.RunTime, f.Attempts()) }

// MeanWait returns the mean time from the due time of a job to its claim. It returns 0 if there
// were no claims.
func (f *Figures) MeanWait() time.Duration { return mean(f.WaitTime, f.Started) }

func mean(micros, n int64) time.Duration {
	if n == 0 {
		return 0
	}
	return time.Duration(micros/n) * time.Microsecond
}

// IsZero reports whether nothing is counted.
func (f *Figures) IsZero() bool {
	return f.Enqueued == 0 && f.Started == 0 && f.Completed == 0 && f.Failed == 0 && f.Dead == 0 && f.Crashed == 0 && f.Cancelled == 0 &&
		f.Cost == 0 // a run that hands its job over has a cost, and counts nothing else
}

// Class returns the figures of a class, and adds the class if it is missing. The pointer is valid
// until the next call.
func (f *Figures) Class(name string) *ClassFigures {
	i, ok := slices.BinarySearchFunc(f.Classes, name, func(c ClassFigures, name string) int { return strings.Compare(c.Class, name) })
	if !ok {
		f.Classes = slices.Insert(f.Classes, i, ClassFigures{Class: name})
	}
	return &f.Classes[i]
}

// Add adds the counts of g.
func (f *Figures) Add(g *Figures) {
	f.Enqueued += g.Enqueued
	f.Started += g.Started
	f.Completed += g.Completed
	f.Recovered += g.Recovered
	f.Failed += g.Failed
	f.Dead += g.Dead
	f.Exhausted += g.Exhausted
	f.Crashed += g.Crashed
	f.Cancelled += g.Cancelled
	f.Retries += g.Retries
	f.RetryCost += g.RetryCost
	f.Cost += g.Cost
	f.RunTime += g.RunTime
	f.WaitTime += g.WaitTime
	for i := range g.Classes {
		c := f.Class(g.Classes[i].Class)
		c.add(&g.Classes[i])
	}
}

func (c *ClassFigures) add(d *ClassFigures) {
	c.Failed += d.Failed
	c.Dead += d.Dead
	c.Recovered += d.Recovered
	c.Exhausted += d.Exhausted
	c.Retries += d.Retries
	c.RetryCost += d.RetryCost
}

// Hour returns the part of the figures of an hour that DeadStats shows.
func (f *Figures) Hour(at job.Micros) Hour {
	return Hour{At: at, Completed: f.Completed, Recovered: f.Recovered, Dead: f.Dead, Exhausted: f.Exhausted, Retries: f.Retries, RetryCost: f.RetryCost, Cost: f.Cost}
}

// StoredFigures are the figures of one minute or hour, as a store keeps them.
type StoredFigures struct {
	Unit        time.Duration // a minute or an hour
	At          job.Micros    // start of the minute or hour
	Queue, Kind string        // empty: all queues and kinds together
	Figures
}

// These constants limit how long figures are kept, and how many figures one query or one sweep
// handles.
const (
	MinutesKept   = 30 * 24 * time.Hour
	HourRowsKept  = 365 * 24 * time.Hour
	SeriesStepMax = 366 * 24 * time.Hour
	// SeriesRowsMax is the maximum number of stored figures that a query may have to read: its
	// minutes or hours, multiplied by the number of combinations of queue, kind and dependencies. A
	// query without Queue, Kind and By reads one stored figure for each minute or hour.
	SeriesRowsMax = 50_000
	// SweptFigures is the maximum number of minutes, and of hours, whose figures one sweep
	// removes.
	SweptFigures = 60
)

// SeriesBy says whether a series has separate points for each queue, each kind or each class.
type SeriesBy string

// The values of SeriesBy.
const (
	ByQueue SeriesBy = "queue"
	ByKind  SeriesBy = "kind"
	ByClass SeriesBy = "class" // the class of the failure; the points have only the figures of ClassFigures
)

// SeriesQuery selects figures over time.
type SeriesQuery struct {
	// Since and Until are the bounds of the time range. If Until is 0, the range ends at the
	// store's current time. If Since is 0, the range begins 60 steps before Until. The range is
	// extended to whole steps. A step without figures has no point.
	Since, Until job.Micros
	// Step is the period that one point covers: a whole number of minutes, at most SeriesStepMax; 0
	// means one minute. Steps begin at multiples of Step since 1970-01-01 00:00 UTC. Figures by
	// minute are kept for MinutesKept. A query whose step is a whole number of hours reads the
	// figures by hour, which are kept for HourRowsKept.
	Step  time.Duration
	Queue string // "" selects all queues
	Kind  string // "" selects all kinds
	By    SeriesBy
}

// Point holds the figures of one step of a series.
type Point struct {
	At   job.Micros `json:"at"`             // start of the step
	Name string     `json:"name,omitempty"` // the queue, kind or class; empty unless the query has By
	Figures
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (q *SeriesQuery) Validate() error {
	for _, t := range [...]struct{ name, value string }{{"queue", q.Queue}, {"kind", q.Kind}} {
		if len(t.value) > job.TextMax {
			return fmt.Errorf("series: %s of %d bytes: at most %d bytes are allowed: %w", t.name, len(t.value), job.TextMax, ErrTooLarge)
		}
	}
	switch {
	case q.Since < 0 || q.Until < 0:
		return fmt.Errorf("series: Since %d and Until %d must not be negative: %w", q.Since, q.Until, ErrInvalid)
	case q.Until != 0 && q.Until <= q.Since:
		return fmt.Errorf("series: Until must be after Since: %w", ErrInvalid)
	case q.Step < 0 || q.Step > SeriesStepMax || q.Step%time.Minute != 0:
		return fmt.Errorf("series: step %s: must be a whole number of minutes, at most %d days: %w", q.Step, SeriesStepMax/(24*time.Hour), ErrInvalid)
	case q.By != "" && q.By != ByQueue && q.By != ByKind && q.By != ByClass:
		return fmt.Errorf("series: %.40q is unknown: points are divided by queue, kind or class: %w", q.By, ErrInvalid)
	}
	return nil
}

// Limits of DueRetries.
const (
	DueMinutesMax = 120
	DueCountMax   = 1_000 // the retries of a minute are counted up to this number
)

// DueRetries says how many retries fall due in the next minutes.
type DueRetries struct {
	At      job.Micros `json:"at"`      // the store's time of the count
	Overdue int64      `json:"overdue"` // retries that are due already
	// Minutes counts the retries that fall due in each of the next minutes. The first minute
	// begins at At.
	Minutes []int64 `json:"minutes"`
	// Capped says that at least one count has reached DueCountMax, so the real number may be
	// higher.
	Capped bool `json:"capped,omitempty"`
}

// ValidMinutes returns an ErrInvalid unless minutes is a number that Reader.Due accepts.
func ValidMinutes(minutes int) error {
	if minutes < 1 || minutes > DueMinutesMax {
		return fmt.Errorf("retries that fall due in the next %d minutes: the number must be 1 to %d: %w", minutes, DueMinutesMax, ErrInvalid)
	}
	return nil
}

// Head says when the first waiting or retrying jobs of one queue and kind are due.
type Head struct {
	Queue string     `json:"queue"`
	Kind  string     `json:"kind"`
	Due   job.Micros `json:"due,omitempty"`   // due time of the job that has been due for longest; 0 if no job is due
	Later job.Micros `json:"later,omitempty"` // due time of the first job that is due later; 0 if there is no such job
	// QueueArrival and KindArrival are the states of the rates of the queue and of the kind, for
	// Rate.Next; 0 if the rate has never been used.
	QueueArrival job.Micros `json:"-"`
	KindArrival  job.Micros `json:"-"`
}

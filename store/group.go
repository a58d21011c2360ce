package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
)

// Group holds the dead letters whose failures have the same fingerprint, and so the same root
// cause.
type Group struct {
	Fingerprint string     `json:"group"`
	Kind        string     `json:"kind"`
	Class       string     `json:"class,omitempty"`
	Code        string     `json:"code,omitempty"`
	Message     string     `json:"message,omitempty"` // message of the first death, sanitised; at most GroupMessageMax bytes
	Sample      job.ID     `json:"sample"`            // the job whose death was the first in the group
	FirstAt     job.Micros `json:"first_at"`
	LastAt      job.Micros `json:"last_at"`
	N           int64      `json:"deaths"`       // number of deaths so far
	Entries     int64      `json:"dead_letters"` // dead letters of any status
	Pending     int64      `json:"pending"`      // dead letters that are pending

	// While a group is ignored, its new dead letters are ignored at once. Two limits can end this
	// state: a time and a number of further deaths. A limit of 0 is not set. An ignored group has
	// at least one of the two limits.
	Muted      bool       `json:"muted,omitempty"`
	MutedUntil job.Micros `json:"muted_until,omitempty"`
	MutedFor   int64      `json:"muted_for,omitempty"` // number of further deaths that will be ignored

	Retried int64 `json:"retried"` // retries of dead letters of the group
	Helped  int64 `json:"helped"`  // retries after which the job completed; Retried includes them
	// FirstBuild and LastBuild name the build of the program in which the first and the last death
	// of the group happened. Deaths without a build are left out.
	FirstBuild string `json:"first_build,omitempty"`
	LastBuild  string `json:"last_build,omitempty"`

	// What people say about the cause; see SetGroup and MergeGroups.
	Name        string     `json:"name,omitempty"`
	Assignee    string     `json:"assignee,omitempty"`
	AssignedAt  job.Micros `json:"assigned_at,omitempty"`
	ResolvedAt  job.Micros `json:"resolved_at,omitempty"` // when a person marked the cause as resolved; 0 means that it is open
	ResolvedBy  string     `json:"resolved_by,omitempty"`
	RegressedAt job.Micros `json:"regressed_at,omitempty"` // the first death after ResolvedAt; 0 means that there was none
	Set         string     `json:"set,omitempty"`          // name of the set of groups that a person has merged
	// Groups has the fingerprints of the groups that Merged has summed up; see GroupFilter.Merge.
	Groups []string `json:"groups,omitempty"`

	// Trend is the number of deaths in each of the last TrendHours hours. The last number is
	// for the current hour. Trend is nil in a Dump.
	Trend []int64 `json:"trend,omitempty"`
}

// The maximum size of a group's message, and the number of hours and minutes in the statistics
// of deaths.
const (
	GroupMessageMax = 300 // maximum size of Group.Message in bytes
	TrendHours      = 24
	AddedMinutes    = 60
)

// GroupFilter selects groups. Zero fields select everything.
type GroupFilter struct {
	Group   string // a fingerprint: selects only this group
	Kind    string
	Class   string
	Pending bool // only groups that have pending dead letters

	Assignee string
	Set      string     // only the groups of this set; see MergeGroups
	State    GroupState // "" selects every state

	// Merge lists the groups of a set as one group, which Merged makes of those groups of the set that
	// the other fields select.
	Merge bool
	// Largest sorts the groups by their number of pending dead letters, then by their number
	// of deaths, the largest number first. If Largest is false, the groups are sorted by the
	// time of their last death, the newest first.
	Largest bool
	Skip    int // number of groups to skip before the page
	Limit   int // maximum number of groups on the page, 1 to job.PageMax; 0 means 50
}

// Merged sums up groups of one set, which are sorted by fingerprint. A text that differs among the
// groups is "". The message is that of the first death. The set is resolved if all groups are
// resolved, and regressed if one of them is regressed and none is open. The set is ignored if all groups
// are ignored; MutedUntil and MutedFor are the first limits that end this for one of the groups.
func Merged(groups []Group) Group {
	m := groups[0]
	m.Trend, m.Groups = slices.Clone(m.Trend), make([]string, len(groups))
	for i := range groups {
		g := &groups[i]
		if m.Groups[i] = g.Fingerprint; i == 0 {
			continue
		}
		if g.FirstAt < m.FirstAt {
			m.FirstAt, m.Sample, m.Message, m.FirstBuild = g.FirstAt, g.Sample, g.Message, g.FirstBuild
		}
		if g.LastAt > m.LastAt {
			m.LastAt, m.LastBuild = g.LastAt, g.LastBuild
		}
		m.N += g.N
		m.Entries += g.Entries
		m.Pending += g.Pending
		m.Retried += g.Retried
		m.Helped += g.Helped
		for h := range g.Trend {
			m.Trend[h] += g.Trend[h]
		}
		for _, t := range [...]struct{ of, other *string }{
			{&m.Kind, &g.Kind}, {&m.Class, &g.Class}, {&m.Code, &g.Code}, {&m.Name, &g.Name}, {&m.Assignee, &g.Assignee}, {&m.ResolvedBy, &g.ResolvedBy},
		} {
			if *t.of != *t.other {
				*t.of = ""
			}
		}
		m.AssignedAt = max(m.AssignedAt, g.AssignedAt)
		m.RegressedAt = max(m.RegressedAt, g.RegressedAt)
		if m.ResolvedAt > 0 && g.ResolvedAt > 0 {
			m.ResolvedAt = max(m.ResolvedAt, g.ResolvedAt)
		} else {
			m.ResolvedAt = 0
		}
		m.Muted = m.Muted && g.Muted
		m.MutedUntil, m.MutedFor = earlier(m.MutedUntil, g.MutedUntil), earlier(m.MutedFor, g.MutedFor)
	}
	m.Fingerprint = ""
	if m.Assignee == "" {
		m.AssignedAt = 0
	}
	if m.ResolvedAt == 0 {
		m.ResolvedBy, m.RegressedAt = "", 0
	}
	if !m.Muted {
		m.MutedUntil, m.MutedFor = 0, 0
	}
	return m
}

// earlier returns the smaller of two limits. 0 means that there is no limit.
func earlier[T ~int64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Validate returns an ErrInvalid that names the wrong field.
func (f *GroupFilter) Validate() error {
	if f.State != "" && !slices.Contains(GroupStates[:], f.State) {
		return fmt.Errorf("group state %.40q is unknown: it must be open, resolved or regressed: %w", f.State, ErrInvalid)
	}
	if f.Skip < 0 || f.Limit < 0 || f.Limit > job.PageMax {
		return fmt.Errorf("page of %d groups after %d skipped groups: a page has 1 to %d groups: %w", f.Limit, f.Skip, job.PageMax, ErrInvalid)
	}
	return nil
}

// GroupPage is one page of groups.
type GroupPage struct {
	Groups []Group
	Total  int // number of groups that the filter selects
}

// DeadCount is the number of dead letters of one status, reason, class, kind and queue.
type DeadCount struct {
	Status job.Status `json:"status"`
	Reason job.Reason `json:"reason"`
	Class  string     `json:"class"`
	Kind   string     `json:"kind"`
	Queue  string     `json:"queue"`
	N      int64      `json:"n"`
}

// DeadStats holds statistics of the dead letters.
type DeadStats struct {
	At            job.Micros  `json:"at"`     // the store's time when the statistics were read
	Counts        []DeadCount `json:"counts"` // sorted by queue, kind, reason, class and status; zero counts are left out
	OldestPending job.Micros  `json:"oldest_pending,omitempty"`
	// Added is the number of deaths in each of the last AddedMinutes minutes. The last number
	// is for the current minute.
	Added []int64 `json:"added"`
	// Hours holds the statistics of each hour within HoursKept in which something happened,
	// the oldest hour first.
	Hours []Hour `json:"hours"`
}

// HoursKept is the time for which the statistics of an hour are kept.
const HoursKept = 30 * 24 * time.Hour

// Hour counts what happened to jobs in one hour. A job that dies, is retried by a
// person and then completes counts both as dead and as completed.
type Hour struct {
	At        job.Micros `json:"at"`        // start of the hour
	Completed int64      `json:"completed"` // completed jobs, including those in Recovered
	Recovered int64      `json:"recovered"` // jobs that completed, but not at the first attempt of their first life
	Dead      int64      `json:"dead"`      // jobs that died, including those in Exhausted
	Exhausted int64      `json:"exhausted"` // jobs that died, but not at the first attempt of their first life
	Retries   int64      `json:"retries"`   // all attempts of jobs except the first attempt of each job's first life
	RetryCost int64      `json:"retry_cost_microusd"`
	Cost      int64      `json:"cost_microusd"` // cost of all runs
}

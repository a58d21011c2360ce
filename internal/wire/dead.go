package wire

import (
	"strconv"
	"time"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// DeadPage is a page of dead letters.
type DeadPage struct {
	Entries []store.DeadEntry `json:"dead_letters"`
	Next    string            `json:"next,omitempty"` // token for the next page; empty on the last page
	// Searched is a time. If a matching dead letter died after this time, it is on this page or
	// on an earlier page.
	Searched job.Micros `json:"searched_until,omitempty"`
}

// DeadPageOf returns the JSON shape of a page of dead letters.
func DeadPageOf(page *store.DeadPage) DeadPage {
	out := DeadPage{Entries: page.Entries, Searched: page.Searched}
	if page.Next > 0 {
		out.Next = strconv.FormatInt(page.Next, 10)
	}
	return out
}

// Step is an action that a person can do next.
type Step struct {
	Command string `json:"command"`
	Does    string `json:"does"`
}

// StepsOf returns the JSON shape of steps. The given function returns the command for each
// step.
func StepsOf(steps []words.Step, way words.Way) []Step {
	out := make([]Step, len(steps))
	for i, s := range steps {
		out[i] = Step{Command: way(s), Does: s.Does}
	}
	return out
}

// DeadDetails holds everything that is stored about a dead letter.
type DeadDetails struct {
	Letter   *job.DeadLetter `json:"dead_letter"`
	Cause    string          `json:"cause"`
	Operator string          `json:"operator,omitempty"` // text that says who must act, and how
	Group    *store.Group    `json:"group,omitempty"`
	Job      Job             `json:"job"`
	Failures []Failure       `json:"failures"`        // the failures of the job, the oldest first
	Notes    []store.Note    `json:"notes,omitempty"` // notes and feedbacks, the oldest first
	Original *Original       `json:"original,omitempty"`
	Acts     []store.Audit   `json:"audit"`
	// Searched is the time of the oldest audit row that was searched.
	Searched job.Micros `json:"audit_searched_until,omitempty"`
	Next     []Step     `json:"next"`
}

// Original holds the values of a job before a retry changed them.
type Original struct {
	*store.Original
	Payload
}

// DeadDetailsOf returns the JSON shape of everything that is stored about a dead letter.
func DeadDetailsOf(d *words.DeadDetails, way words.Way) DeadDetails {
	out := DeadDetails{
		Letter: d.Letter, Cause: d.Cause(), Operator: d.Operator, Group: d.Group, Job: JobOf(&d.Job), Failures: failuresOf(d.Failures), Notes: d.Notes,
		Acts: append([]store.Audit{}, d.Acts...), Searched: d.Searched, Next: StepsOf(d.Steps(), way),
	}
	if d.Original != nil {
		out.Original = &Original{d.Original, PayloadOf(d.Original.Payload)}
	}
	return out
}

// GroupList is a page of groups.
type GroupList struct {
	Groups []GroupRow `json:"groups"`
	Total  int        `json:"total"`
	// Searched is set if only the dead letters that died after this time were counted.
	Searched job.Micros `json:"searched_until,omitempty"`
}

// GroupRow is a group with the text that says who must act on its cause, and how.
type GroupRow struct {
	store.Group
	Operator string `json:"operator,omitempty"`
}

// GroupsOf returns the JSON shape of a page of groups, without texts for operators.
func GroupsOf(page *store.GroupPage) GroupList {
	list := GroupList{Groups: make([]GroupRow, len(page.Groups)), Total: page.Total}
	for i := range page.Groups {
		list.Groups[i].Group = page.Groups[i]
	}
	return list
}

// GroupDetails holds everything that is stored about a group.
type GroupDetails struct {
	Group *store.Group `json:"group"`
	Notes []store.Note `json:"notes"` // from the oldest to the newest
}

// DeadAnswer is the result for one dead letter of an action on several dead letters.
type DeadAnswer struct {
	ID     job.ID `json:"id"`
	Status string `json:"status,omitempty"`
	Code   string `json:"error_code,omitempty"` // name of the kind of the error
	Error  string `json:"error,omitempty"`
}

// Counted contains the number of dead letters that the filter of an action selects, and the
// number of dead letters that the action has changed.
type Counted struct {
	Do string `json:"act"`
	N  int64  `json:"count"`
	// Done is the number of changed dead letters; it is nil if they were only counted.
	Done    *int64 `json:"done,omitempty"`
	Through int64  `json:"through,omitempty"`
	Redrive int64  `json:"redrive,omitempty"` // the redrive that has changed the dead letters; 0 if the command has changed them itself
}

// Patched is the answer to a retry with a patch.
type Patched struct {
	Do   string `json:"act"`
	N    int64  `json:"count"`          // number of dead letters to which the patch applies
	Done *int64 `json:"done,omitempty"` // number of retried jobs; nil in a dry run

	Through  int64        `json:"through,omitempty"`
	Redrive  int64        `json:"redrive,omitempty"` // the redrive that has retried the jobs of a filter
	RefusedN int64        `json:"refused_count"`
	Refused  []DeadAnswer `json:"refused"` // the first refused jobs, with the reasons
}

// LiveCounted contains the number of live jobs that the filter of an action selects, and the
// number of jobs that the action has changed.
type LiveCounted struct {
	Do      string `json:"act"`
	N       int64  `json:"count"`
	Done    *int64 `json:"done,omitempty"` // number of changed jobs; nil if they were only counted
	Through job.ID `json:"through,omitempty"`
	Redrive int64  `json:"redrive,omitempty"` // the redrive that has changed the jobs
}

// Redrive is a bulk retry of dead letters, or a bulk action on live jobs.
type Redrive struct {
	*store.Redrive
	Priority int8   `json:"priority"`        // the priority that the retried jobs get
	Queue    string `json:"queue,omitempty"` // the queue that the retried jobs get
}

// RedriveOf returns the JSON shape of a redrive.
func RedriveOf(r *store.Redrive) Redrive { return Redrive{r, r.Change.Priority, r.Change.Queue} }

// RedriveList is a list of redrives.
type RedriveList struct {
	Redrives []Redrive `json:"redrives"`
}

// RedrivesOf returns the JSON shape of a list of redrives.
func RedrivesOf(list []store.Redrive) RedriveList {
	out := RedriveList{Redrives: make([]Redrive, len(list))}
	for i := range list {
		out.Redrives[i] = RedriveOf(&list[i])
	}
	return out
}

// DeadStats holds the numbers of dead letters, and figures about the success of retries.
type DeadStats struct {
	store.DeadStats
	Total   int64            `json:"total"`
	Status  map[string]int64 `json:"by_status"`
	Reason  map[string]int64 `json:"by_reason"`
	Class   map[string]int64 `json:"by_class"`
	Kind    map[string]int64 `json:"by_kind"`
	PerMin  Added            `json:"additions_per_minute"`
	Success []Figure         `json:"success"` // empty if a filter selects only some of the dead letters
	// the results of the retries of each class in the same window
	SuccessByClass []ClassRetries `json:"success_by_class,omitempty"`
	// Searched is set if only the dead letters that died after this time were counted.
	Searched job.Micros `json:"searched_until,omitempty"`
}

// Added holds the numbers of jobs that became dead per minute: in the current minute so
// far, in the last whole minute, and on average in the last 10 and the last 60 minutes.
type Added struct {
	Present int64   `json:"present"`
	Last    int64   `json:"last"`
	Mean10  float64 `json:"mean_10m"`
	Mean60  float64 `json:"mean_60m"`
}

// Figure is a number that is compared with a target.
type Figure struct {
	Name    string  `json:"name"`
	Formula string  `json:"formula"`
	Window  string  `json:"window"`
	Part    float64 `json:"numerator"`
	Of      float64 `json:"denominator"`
	Value   float64 `json:"value"` // the value of the figure; 0 if the denominator is 0
	Target  string  `json:"target"`
	Met     *bool   `json:"met" jsonschema:"nullable"` // whether the figure meets its target; null if the denominator is 0
}

// ClassRetries has the results of the retries after the failures of one class.
type ClassRetries struct {
	Class     string  `json:"class"`
	Recovered int64   `json:"recovered"` // jobs that completed after such a retry
	Exhausted int64   `json:"exhausted"` // jobs that died after such a retry
	Succeed   float64 `json:"succeed"`   // recovered / (recovered + exhausted)
	Met       *bool   `json:"succeed_met"`
	Retries   int64   `json:"retries"`
	Cost      float64 `json:"average_cost"` // of a retry, in US dollars
	CostMet   *bool   `json:"average_cost_met"`
}

// RetriesOf returns the JSON shape of figures about the retries of classes.
func RetriesOf(list []words.ClassRetries) []ClassRetries {
	out := make([]ClassRetries, len(list))
	for i := range list {
		c := &list[i]
		out[i] = ClassRetries{c.Class, c.Recovered, c.Exhausted, c.Succeed.Value, c.Succeed.Met, c.Retries, c.Cost.Value, c.Cost.Met}
	}
	return out
}

// StatsOf adds up the numbers of dead letters, and computes the figures about retries in a
// time window. A window of 0 means no figures.
func StatsOf(s *store.DeadStats, window time.Duration) *DeadStats {
	v := &DeadStats{
		DeadStats: *s, Success: []Figure{}, Status: map[string]int64{}, Reason: map[string]int64{}, Class: map[string]int64{}, Kind: map[string]int64{},
		PerMin: Added(words.AddedOf(s.Added)),
	}
	v.Counts, v.Added, v.Hours = append([]store.DeadCount{}, s.Counts...), append([]int64{}, s.Added...), append([]store.Hour{}, s.Hours...)
	for _, status := range job.Statuses {
		v.Status[status.String()] = 0
	}
	for i := range s.Counts {
		n := &s.Counts[i]
		v.Total += n.N
		v.Status[n.Status.String()] += n.N
		v.Reason[string(n.Reason)] += n.N
		v.Class[n.Class] += n.N
		v.Kind[n.Kind] += n.N
	}
	if window == 0 {
		return v
	}
	for _, f := range words.Figures(s, window) {
		v.Success = append(v.Success, Figure{f.Name, f.Formula, f.Window, f.Part, f.Of, f.Value, f.Target, f.Met})
	}
	return v
}

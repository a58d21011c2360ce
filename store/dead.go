package store

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
)

// DeadLetters lists and changes the dead letters: the jobs that failed for good.
//
// Entries are ordered by their death numbers; a later death has a higher number. The fields by
// which filters select a death never change, except the status. So the deaths up to a number are a
// frozen set: no death joins it later. When a retried job dies again, its new death has a higher
// number and is outside the set.
type DeadLetters interface {
	// DeadLetters returns a page of entries, the newest death first.
	DeadLetters(ctx context.Context, f DeadFilter, p DeadPaging) (DeadPage, error)
	// Groups returns groups of dead letters.
	Groups(ctx context.Context, f GroupFilter) (GroupPage, error)
	// DeadStats returns statistics of the dead letters. It reads counters, so its cost does
	// not grow with the number of dead letters.
	DeadStats(ctx context.Context) (DeadStats, error)
	// Preview counts the entries that Act would change. Pass the field Through of the answer
	// to Act. Then Act changes only entries that Preview has counted.
	Preview(ctx context.Context, a Action) (Acted, error)
	// Act does one step of a person's action in one transaction, with its audit rows. An action by
	// ids writes one row per id: "job.retry", "dead_letter.resolve" and so on; the target is the
	// job's id. An action by filter writes one row for each step that changed an entry:
	// "dead_letter.retry" and so on; the target is the filter as JSON. The field After of a row
	// says what was done and what a retry changes in the jobs. A step that is repeated changes
	// nothing the second time.
	Act(ctx context.Context, by By, a Action) (Acted, error)
	// Original returns the values of a job before a retry or Alter changed them for the
	// first time. It includes the payload if the payload was changed. It returns
	// ErrNotFound when nothing was changed. The values are kept as long as the job or its
	// dead letter.
	Original(ctx context.Context, id job.ID) (Original, error)
}

// DeadFilter selects dead letters. Zero fields select everything. The names and meanings
// of the fields are those of Filter.
type DeadFilter struct {
	Statuses    []job.Status `json:"statuses,omitempty"`
	Reason      job.Reason   `json:"reason,omitempty"`
	Class       string       `json:"class,omitempty"`
	Kind        string       `json:"kind,omitempty"`
	Queue       string       `json:"queue,omitempty"`
	Owner       string       `json:"owner,omitempty"`
	Batch       int64        `json:"batch,omitempty"`
	Worker      string       `json:"worker,omitempty"` // the name of the process that had the last run
	Correlation string       `json:"correlation,omitempty"`
	// Key selects the dead letter of the job that holds this idempotency key of Kind and
	// Owner now. It needs Kind; without Owner it is a key of the jobs that have no owner.
	Key   string `json:"key,omitempty"`
	Attr  Attr   `json:"attr,omitzero"`
	Group string `json:"group,omitempty"` // a fingerprint; selects the dead letters of this group
	// Groups are at most GroupsMax fingerprints, such as the fingerprints of a set of groups; see
	// Causes.MergeGroups. The filter selects the dead letters of all these groups. Groups and Group
	// cannot be used together.
	Groups  []string   `json:"groups,omitempty"`
	Since   job.Micros `json:"since,omitempty"` // selects only deaths at or after this time; 0 means no bound
	Until   job.Micros `json:"until,omitempty"` // selects only deaths before this time; 0 means no bound
	Text    string     `json:"text,omitempty"`  // a part of the message, compared without regard to case; at most job.TextMax bytes
	Redrive int64      `json:"redrive,omitempty"`
}

// Match reports whether the filter selects an entry. attrs are the attributes of its job. Match
// ignores the field Key.
func (f *DeadFilter) Match(d *job.DeadLetter, attrs []byte) bool {
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, d.Status)) &&
		(f.Reason == "" || f.Reason == d.Reason) &&
		(f.Kind == "" || f.Kind == d.Kind) &&
		(f.Queue == "" || f.Queue == d.Queue) &&
		(f.Owner == "" || f.Owner == d.Owner) &&
		(f.Batch == 0 || f.Batch == d.Batch) &&
		(f.Worker == "" || f.Worker == d.Holder) &&
		(f.Correlation == "" || f.Correlation == d.Correlation) &&
		(f.Redrive == 0 || f.Redrive == d.Redrive) &&
		(len(f.Groups) == 0 || slices.Contains(f.Groups, d.Fingerprint)) &&
		f.died().Has(d.DiedAt) &&
		f.Attr.Matches(attrs) &&
		f.jobs().MatchCause(d.Class, d.Fingerprint, d.Message)
}

func (f *DeadFilter) died() Span { return Span{Since: f.Since, Until: f.Until} }

// jobs returns a filter of jobs with the fields that DeadFilter and Filter have in common.
func (f *DeadFilter) jobs() *Filter {
	return &Filter{
		Kind: f.Kind, Queue: f.Queue, Owner: f.Owner, Batch: f.Batch, Worker: f.Worker, Correlation: f.Correlation, Key: f.Key,
		Attr: f.Attr, Class: f.Class, Group: f.Group, Text: f.Text, Reason: f.Reason, Ended: f.died(),
	}
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (f *DeadFilter) Validate() error {
	if n := int(job.Ignored) + 1; len(f.Statuses) > n {
		return fmt.Errorf("filter: %d statuses are named, but there are only %d: name each once: %w", len(f.Statuses), n, ErrTooLarge)
	}
	for _, s := range f.Statuses {
		if s > job.Ignored {
			return fmt.Errorf("filter: status %d is unknown: %w", uint8(s), ErrInvalid)
		}
	}
	if len(f.Groups) > 0 {
		if f.Group != "" {
			return fmt.Errorf("filter: name one group or several, not both: %w", ErrInvalid)
		}
		if err := validGroups("filter", f.Groups); err != nil {
			return err
		}
	}
	if f.Redrive < 0 {
		return fmt.Errorf("filter: redrive %d must not be negative: %w", f.Redrive, ErrInvalid)
	}
	return f.jobs().Validate()
}

// Counted reports whether the counts of DeadStats are enough to count the dead letters that the
// filter selects.
func (f *DeadFilter) Counted() bool {
	rest := *f
	rest.Statuses, rest.Reason, rest.Class, rest.Kind, rest.Queue = nil, "", "", "", ""
	return rest.isZero()
}

// DeadPaging selects one page of a list of dead letters.
type DeadPaging struct {
	Before int64 // only deaths with a lower number; 0 starts at the newest death
	Limit  int   // maximum number of entries on the page, 1 to job.PageMax; 0 means 50
	Jobs   bool  // whether to return the jobs and their payloads as well
}

// DeadEntry is a dead letter in a list.
type DeadEntry struct {
	job.DeadLetter
	Job *job.Job `json:"job_data,omitempty"` // the job; nil if DeadPaging.Jobs is false or the job is not dead any more
}

// DeadPage is one page of a list.
type DeadPage struct {
	Entries []DeadEntry
	// Next is the value of Before for the next page; 0 on the last page. A page may have fewer
	// entries than its limit, or none, although a next page follows: a list stops after it has
	// examined a limited number of rows.
	Next int64
	// Searched is a time: every entry that died later is on this page or an earlier page. It
	// is 0 on the last page.
	Searched job.Micros
}

// Act is an operation on dead letters, such as a retry.
type Act uint8

// The operations. Each comment names the statuses of the entries to which the operation
// applies. A filter without statuses selects entries with the same statuses.
const (
	// ActRetry opens the next life of the job. By id it applies to every entry whose
	// job is dead. By a filter without statuses it applies only to pending entries.
	ActRetry Act = 1
	// ActResolve closes pending and ignored entries.
	ActResolve Act = 2
	// ActIgnore sets pending entries to ignored.
	ActIgnore Act = 3
	// ActReopen makes resolved and ignored entries pending if the job is dead. For a
	// whole group it also ends the mute of the group.
	ActReopen Act = 4
	// ActPurge removes resolved and ignored entries together with all data of their jobs. It never
	// removes a pending entry or an entry whose job is live.
	ActPurge Act = 5
)

var actNames = [...]string{ActRetry: "retry", ActResolve: "resolve", ActIgnore: "ignore", ActReopen: "reopen", ActPurge: "purge"}

// String returns the name of the act.
func (a Act) String() string {
	if a >= 1 && int(a) < len(actNames) {
		return actNames[a]
	}
	return fmt.Sprintf("act(%d)", uint8(a))
}

// Takes reports whether the act applies to the entry. byID says that the action names
// the entry by the id of its job.
func (a Act) Takes(d *job.DeadLetter, byID bool) bool {
	switch a {
	case ActRetry:
		return !d.Revived && (byID || d.Status != job.Redriven)
	case ActResolve:
		return d.Status == job.Pending || d.Status == job.Ignored
	case ActIgnore:
		return d.Status == job.Pending
	case ActReopen:
		return !d.Revived && (d.Status == job.Resolved || d.Status == job.Ignored)
	case ActPurge:
		return d.Status == job.Resolved || d.Status == job.Ignored
	}
	return false
}

// Statuses returns the statuses that a filter without statuses selects for the act.
func (a Act) Statuses() []job.Status {
	switch a {
	case ActRetry, ActIgnore:
		return []job.Status{job.Pending}
	case ActResolve:
		return []job.Status{job.Pending, job.Ignored}
	case ActReopen, ActPurge:
		return []job.Status{job.Resolved, job.Ignored}
	}
	return nil
}

// Limits of an action on dead letters.
const (
	StepMax    = 2_000  // maximum number of entries that one step by filter changes
	PreviewMax = 50_000 // maximum number of entries that one preview counts
)

// UntilMax is the end of the year 9999. It is the latest time for a job's start, for its deadline
// and for the end of its key, and the latest time until which an entry can be ignored.
const UntilMax job.Micros = 253_402_300_799_999_999

// Action is an operation of a person on dead letters. It applies either to the dead letters of
// the jobs IDs or to all dead letters that Filter selects.
type Action struct {
	Do     Act
	IDs    []job.ID // ids of jobs; at most job.IDsMax
	Filter *DeadFilter
	// Lives are the lives in which the jobs IDs were seen, in the same order; nil means any life. A job
	// that is in another life is refused with an ErrMoved, so a retry of many jobs never retries a
	// death that came later.
	Lives []int32

	// These fields are used only in an action by filter. Through is the number of the last
	// death of the frozen set; Act requires it, and Preview returns it. After is the field
	// Next from the answer to the previous step. Limit is the maximum number of entries that
	// the step changes; 0 means StepMax.
	Through int64
	After   int64
	Limit   int

	Note   string // a comment of the person; at most job.MessageMax bytes
	Change Change // changes that an ActRetry makes in the jobs

	// These fields are used only for ActIgnore. They say when the entries become pending
	// again. Until is a time, at most UntilMax. Count is a number of further deaths of the
	// group; it needs a filter with a Group and no other field. While a group is ignored, new
	// deaths in it are ignored at once. If both fields are set, the entries become pending
	// when the first limit is reached.
	Until job.Micros
	Count int64
}

// Acted is the answer to a step of an action.
type Acted struct {
	// for an action by id, one value per id: nil, ErrNotFound, or ErrConflict when the state
	// does not allow the act
	Errors  []error
	Done    int64 // number of entries that were changed, or that Preview has counted
	Through int64 // the number of the last death of the frozen set
	// Next is the value of After for the next step; 0 when there is no next step. A step
	// examines a limited number of rows, so a step may change nothing although a next step
	// follows.
	Next int64
	// Skipped counts, by the reason, entries that the step has passed over: SkippedExpired.
	Skipped map[string]int64
}

// SkippedExpired is the reason why a retry by filter passes over a member of a batch that has expired.
const SkippedExpired = "batch_expired"

// Validate returns an ErrInvalid or ErrTooLarge when the action is not allowed. Set preview if
// the entries will only be counted.
func (a *Action) Validate(preview bool) error {
	most := StepMax
	if preview {
		most = PreviewMax
	}
	switch {
	case a.Do < ActRetry || a.Do > ActPurge:
		return fmt.Errorf("act %d is unknown: %w", uint8(a.Do), ErrInvalid)
	case (a.Filter == nil) == (a.IDs == nil):
		return fmt.Errorf("%s: either ids or a filter is required: %w", a.Do, ErrInvalid)
	case len(a.IDs) > job.IDsMax:
		return fmt.Errorf("%s: %d ids in one call: at most %d ids are allowed: %w", a.Do, len(a.IDs), job.IDsMax, ErrTooLarge)
	case a.Lives != nil && len(a.Lives) != len(a.IDs):
		return fmt.Errorf("%s: %d lives for %d ids: give one life for each id: %w", a.Do, len(a.Lives), len(a.IDs), ErrInvalid)
	case len(a.Note) > job.MessageMax:
		return fmt.Errorf("%s: note of %d bytes: at most %d bytes are allowed: %w", a.Do, len(a.Note), job.MessageMax, ErrTooLarge)
	case a.Through < 0 || a.After < 0 || a.Limit < 0 || a.Limit > most:
		return fmt.Errorf("%s: the limit is %d: it must be 1 to %d, and After and Through must not be negative: %w", a.Do, a.Limit, most, ErrInvalid)
	case a.Filter != nil && a.Through == 0 && !preview:
		return fmt.Errorf("%s: an action by filter needs Through, which Preview returns: %w", a.Do, ErrInvalid)
	case a.Do != ActRetry && !a.Change.IsZero():
		return fmt.Errorf("%s: only a retry can change a job: %w", a.Do, ErrInvalid)
	case a.Do != ActIgnore && (a.Until != 0 || a.Count != 0):
		return fmt.Errorf("%s: Until and Count are allowed only for ignore: %w", a.Do, ErrInvalid)
	case a.Until < 0 || a.Count < 0:
		return fmt.Errorf("ignore: Until and Count must not be negative: %w", ErrInvalid)
	case a.Until > UntilMax:
		return fmt.Errorf("ignore: Until must not be after the year 9999: %w", ErrInvalid)
	case a.Count > 0 && (a.Filter == nil || !a.Filter.WholeGroup()):
		return fmt.Errorf("ignore: a count of deaths needs a filter that selects a whole group: %w", ErrInvalid)
	case a.Change.Payload != nil && len(a.IDs) != 1:
		return fmt.Errorf("retry: a new payload is allowed only with one id, but there are %d ids: %w", len(a.IDs), ErrInvalid)
	}
	if a.Filter != nil {
		if err := a.Filter.Validate(); err != nil {
			return err
		}
	}
	return a.Change.validate()
}

// WholeGroup reports whether the filter selects exactly one whole group, or several whole
// groups, with entries of any status.
func (f *DeadFilter) WholeGroup() bool {
	rest := *f
	rest.Group, rest.Groups, rest.Statuses = "", nil, nil
	return len(f.Fingerprints()) > 0 && rest.isZero()
}

// Fingerprints returns the groups that the filter names: its Group or its Groups.
func (f *DeadFilter) Fingerprints() []string {
	if f.Group != "" {
		return []string{f.Group}
	}
	return f.Groups
}

// isZero reports whether the filter selects everything.
func (f *DeadFilter) isZero() bool { return reflect.ValueOf(*f).IsZero() }

// isUTF8 reports whether all texts of the filter are UTF-8, so that JSON can hold them.
func (f *DeadFilter) isUTF8() bool {
	return f.jobs().isUTF8() && !slices.ContainsFunc(f.Groups, func(group string) bool { return !utf8.ValidString(group) })
}

// AuditBy returns the actor and reason for the audit log. If the given actor has no reason, the
// reason is the note of the action.
func (a *Action) AuditBy(by By) By {
	by.Reason = cmp.Or(by.Reason, a.Note)
	return by
}

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Causes keeps what people know and do about the causes of dead letters (the groups) and about
// single jobs. When retention removes a group, the group's name, assignee and notes are removed,
// too.
//
// A change of a group writes an event of the type event.GroupChanged. Its Reason names what
// changed, with commas between several words: "name", "assignee", "resolved", "reopened",
// "merged" or "unmerged". The Reason "regressed" says that a job died of a cause that a
// person had marked as resolved.
type Causes interface {
	// SetGroup changes the name, the assignee or the state of a group. ErrNotFound means
	// that the group does not exist. It writes one audit row, "group.set", with the
	// fingerprint as the target. A call that changes nothing writes no row.
	SetGroup(ctx context.Context, by By, c GroupChange) (Group, error)
	// MergeGroups puts groups into the set with this name, or takes them out of their sets
	// when the name is "". A group is in at most one set, and a set exists as long as a
	// group is in it. The dead letters keep their groups, so taking the groups out undoes
	// the merge. The call changes all the groups or none: ErrNotFound means that a group
	// does not exist, ErrConflict that a group is in another set, and ErrTooLarge that the
	// set would have more than GroupsMax groups. For each changed group it writes an audit
	// row, "group.merge" or "group.unmerge", with the fingerprint as the target. The answer
	// is the number of changed groups.
	MergeGroups(ctx context.Context, by By, set string, groups []string) (int, error)
	// AddNote adds a note or a feedback to a job or to a group, and returns it with its number and
	// its time. ErrNotFound means that the job or the group does not exist, and ErrTooLarge that it
	// has NotesMax notes already. A note of a person writes an audit row, "job.note",
	// "job.feedback", "group.note" or "group.feedback", with the job's id or the fingerprint as the
	// target. If n.Run is set, the note is from the handler of that run, and by.Actor names the
	// worker. Such a note writes no audit row, and ErrLeaseLost means that the run is not the job's
	// current run. Each note writes an event of the type event.NoteAdded.
	AddNote(ctx context.Context, by By, n Note) (Note, error)
	// Notes returns notes, the newest first.
	Notes(ctx context.Context, f NoteFilter) ([]Note, error)
}

// GroupsMax is the maximum number of groups in a set, in one call of MergeGroups, and in a
// filter.
const GroupsMax = 100

// GroupChange changes a group. A nil field keeps the group's value.
type GroupChange struct {
	Group    string  // the fingerprint of the group
	Name     *string // what people call the cause; at most job.TextMax bytes; "" removes it
	Assignee *string // who works on the cause; at most job.TextMax bytes; "" means nobody
	// Resolved true says that the cause is gone. The group stays resolved until a job dies of this
	// cause again. Resolved false makes the group open again.
	Resolved *bool
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (c *GroupChange) Validate() error {
	if err := validFingerprint(c.Group); err != nil {
		return err
	}
	for _, t := range [...]struct {
		what string
		text *string
	}{{"name", c.Name}, {"assignee", c.Assignee}} {
		if t.text != nil && len(*t.text) > job.TextMax {
			return fmt.Errorf("group %s: %s of %d bytes: at most %d bytes are allowed: %w", c.Group, t.what, len(*t.text), job.TextMax, ErrTooLarge)
		}
	}
	return nil
}

func validFingerprint(group string) error {
	switch {
	case group == "":
		return fmt.Errorf("the fingerprint of the group is missing: %w", ErrInvalid)
	case len(group) > job.TextMax:
		return fmt.Errorf("fingerprint of %d bytes: at most %d bytes are allowed: %w", len(group), job.TextMax, ErrTooLarge)
	}
	return nil
}

// Apply returns the group as it is after the change, and the words for the Reason of the
// event: nil when nothing changes.
func (c *GroupChange) Apply(g Group, by string, now job.Micros) (after Group, changed []string) {
	if c.Name != nil && *c.Name != g.Name {
		g.Name = *c.Name
		changed = append(changed, "name")
	}
	if c.Assignee != nil && *c.Assignee != g.Assignee {
		g.Assignee, g.AssignedAt = *c.Assignee, now
		if g.Assignee == "" {
			g.AssignedAt = 0
		}
		changed = append(changed, "assignee")
	}
	switch {
	case c.Resolved == nil:
	case *c.Resolved && g.State() != GroupResolved:
		g.ResolvedAt, g.ResolvedBy, g.RegressedAt = now, by, 0
		changed = append(changed, "resolved")
	case !*c.Resolved && g.State() != GroupOpen:
		g.ResolvedAt, g.ResolvedBy, g.RegressedAt = 0, "", 0
		changed = append(changed, "reopened")
	}
	return g, changed
}

// GroupState says whether the cause of a group is open, resolved by a person, or has caused another
// death after a person resolved it.
type GroupState string

// The states of a group.
const (
	GroupOpen      GroupState = "open"
	GroupResolved  GroupState = "resolved"  // a person marked the cause as resolved, and no job has died of it since
	GroupRegressed GroupState = "regressed" // a job has died of the cause since a person marked it as resolved
)

// GroupStates lists all states of a group.
var GroupStates = [...]GroupState{GroupOpen, GroupResolved, GroupRegressed}

// State returns the state of the group.
func (g *Group) State() GroupState {
	switch {
	case g.ResolvedAt == 0:
		return GroupOpen
	case g.RegressedAt == 0:
		return GroupResolved
	}
	return GroupRegressed
}

// AuditGroup returns the Before or After text of the audit row of SetGroup.
func AuditGroup(g *Group) string {
	text, err := json.Marshal(struct {
		Name     string     `json:"name,omitempty"`
		Assignee string     `json:"assignee,omitempty"`
		State    GroupState `json:"state"`
	}{g.Name, g.Assignee, g.State()})
	if err != nil {
		return err.Error() // this cannot fail, because a struct of texts can always be written as JSON
	}
	return string(text)
}

// ValidateMerge returns an ErrInvalid or ErrTooLarge that names the wrong argument of
// MergeGroups.
func ValidateMerge(set string, groups []string) error {
	if set != "" {
		if err := ValidName("set of groups", set); err != nil {
			return err
		}
	}
	return validGroups("merge", groups)
}

func validGroups(what string, groups []string) error {
	if len(groups) == 0 || len(groups) > GroupsMax {
		return fmt.Errorf("%s of %d groups: the number must be 1 to %d: %w", what, len(groups), GroupsMax, ErrInvalid)
	}
	for i, group := range groups {
		if err := validFingerprint(group); err != nil {
			return err
		}
		if slices.Contains(groups[:i], group) {
			return fmt.Errorf("%s: group %.80q is named twice: %w", what, group, ErrInvalid)
		}
	}
	return nil
}

// Merge decides what MergeGroups does to one group. The first result is false when the group is in
// the set already. ErrConflict means that the group is in another set.
func Merge(g *Group, set string) (changed bool, err error) {
	switch {
	case g.Set == set:
		return false, nil
	case set != "" && g.Set != "":
		return false, fmt.Errorf("group %s is in the set %q: take it out of that set first: %w", g.Fingerprint, g.Set, ErrConflict)
	}
	return true, nil
}

// FullSet returns the error for a set that would have more than GroupsMax groups.
func FullSet(set string) error {
	return fmt.Errorf("set %q would have more than %d groups, which is the maximum: %w", set, GroupsMax, ErrTooLarge)
}

// MergeAction returns the audit action of MergeGroups, and the Reason of the event that MergeGroups
// writes for each group.
func MergeAction(set string) (action, word string) {
	if set == "" {
		return "group.unmerge", "unmerged"
	}
	return "group.merge", "merged"
}

// GroupEvent returns the event for a change of a group.
func GroupEvent(g *Group, changed string) event.Event {
	return event.Event{Type: event.GroupChanged, Note: g.Fingerprint, Kind: g.Kind, Class: g.Class, Reason: changed}
}

// RegressedEvent returns the event for a death by a cause that a person had marked as
// resolved.
func RegressedEvent(fingerprint string, id job.ID, kind, queue, class string) event.Event {
	return event.Event{Type: event.GroupChanged, Note: fingerprint, Job: id, Kind: kind, Queue: queue, Class: class, Reason: "regressed"}
}

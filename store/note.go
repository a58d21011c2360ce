package store

import (
	"fmt"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// NoteKind is the kind of a note. Stores keep these words, so an existing word must not change.
type NoteKind string

// The kinds of notes.
const (
	PlainNote NoteKind = "note"     // what people know about a job or a cause
	Feedback  NoteKind = "feedback" // what the user of a job, or its handler, says about it
	Label     NoteKind = "label"    // the class that the failures of a group have, as a person says; the text is that of policy.Label. Retention keeps it
)

var noteKinds = [...]NoteKind{PlainNote, Feedback, Label}

// Limits on notes.
const (
	NotesMax = 100     // maximum number of notes on one job, and on one group
	NoteMax  = 4 << 10 // maximum size of the text of a note, in bytes
)

// Note is a text on a job or on a group. The store sets ID, At and By. Retention removes a note
// together with its job and the job's dead letter, or together with its group, except a label.
type Note struct {
	ID    int64      `json:"id"` // later notes have higher numbers
	At    job.Micros `json:"at"`
	By    string     `json:"by"` // the person who wrote the note, or the worker whose handler wrote it
	What  NoteKind   `json:"what"`
	Job   job.ID     `json:"job,omitempty"`
	Group string     `json:"group,omitempty"` // a fingerprint; either Job or Group is set
	Run   job.Token  `json:"run,omitempty"`   // the run whose handler wrote the note; 0 means that a person wrote it
	Text  string     `json:"text"`            // 1 to NoteMax bytes
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (n *Note) Validate() error {
	switch {
	case !slices.Contains(noteKinds[:], n.What):
		return fmt.Errorf("note of the kind %.40q: it must be note, feedback or label: %w", n.What, ErrInvalid)
	case n.What == Label && n.Group == "":
		return fmt.Errorf("label: name a group: %w", ErrInvalid)
	case (n.Job == 0) == (n.Group == "") || n.Job < 0:
		return fmt.Errorf("%s: name either a job or a group: %w", n.What, ErrInvalid)
	case n.Run < 0 || n.Run != 0 && n.Job == 0:
		return fmt.Errorf("%s of run %d: only a note on a job can have a run: %w", n.What, n.Run, ErrInvalid)
	case n.Text == "":
		return fmt.Errorf("the text of the %s is empty: %w", n.What, ErrInvalid)
	case len(n.Text) > NoteMax:
		return fmt.Errorf("%s of %d bytes: at most %d bytes are allowed: %w", n.What, len(n.Text), NoteMax, ErrTooLarge)
	case n.Group != "":
		return validFingerprint(n.Group)
	}
	return nil
}

// ValidateNote returns an ErrInvalid or ErrTooLarge when this person or worker may not add the
// note. A worker may have any name of at most job.TextMax bytes.
func ValidateNote(by By, n *Note) error {
	if n.Run != 0 && len(by.Actor) >= 1 && len(by.Actor) <= job.TextMax {
		return n.Validate()
	}
	if err := by.Validate(); err != nil {
		return err
	}
	return n.Validate()
}

// Target returns the target of the note's audit row.
func (n *Note) Target() string {
	if n.Group != "" {
		return n.Group
	}
	return n.Job.String()
}

// Action returns the action of the note's audit row, such as "job.note".
func (n *Note) Action() string {
	if n.Group != "" {
		return "group." + string(n.What)
	}
	return "job." + string(n.What)
}

// TooMany returns the error for a job or group that has NotesMax notes.
func (n *Note) TooMany() error {
	return fmt.Errorf("%s: %s has %d notes, which is the maximum: %w", n.What, n.of(), NotesMax, ErrTooLarge)
}

// Missing returns the error for a job or group that does not exist.
func (n *Note) Missing() error { return fmt.Errorf("%s: %w", n.of(), ErrNotFound) }

func (n *Note) of() string {
	if n.Group != "" {
		return fmt.Sprintf("group %.80q", n.Group)
	}
	return fmt.Sprintf("job %d", n.Job)
}

// Event returns the event of the note. The arguments are the kind, the queue and the owner of the
// note's job.
func (n *Note) Event(kind, queue, owner string) event.Event {
	return event.Event{Type: event.NoteAdded, Job: n.Job, Kind: kind, Queue: queue, Owner: owner, Token: n.Run,
		Reason: string(n.What), Note: n.Group}
}

// NoteFilter selects notes. Zero fields select everything.
type NoteFilter struct {
	Job    job.ID
	Group  string
	What   NoteKind
	Before int64 // only notes with a lower number; 0 starts at the newest note
	Limit  int   // 1 to job.PageMax; 0 means 50
}

// Validate sets the default of Limit, or returns an ErrInvalid or ErrTooLarge that names
// the wrong field.
func (f *NoteFilter) Validate() error {
	switch {
	case f.Job != 0 && f.Group != "" || f.Job < 0:
		return fmt.Errorf("notes: name a job or a group, not both: %w", ErrInvalid)
	case f.What != "" && !slices.Contains(noteKinds[:], f.What):
		return fmt.Errorf("notes of the kind %.40q: it must be note, feedback or label: %w", f.What, ErrInvalid)
	case f.Limit < 0 || f.Limit > job.PageMax || f.Before < 0:
		return fmt.Errorf("page of %d notes before number %d: a page has 1 to %d notes: %w", f.Limit, f.Before, job.PageMax, ErrInvalid)
	case len(f.Group) > job.TextMax:
		return fmt.Errorf("fingerprint of %d bytes: at most %d bytes are allowed: %w", len(f.Group), job.TextMax, ErrTooLarge)
	}
	if f.Limit == 0 {
		f.Limit = 50
	}
	return nil
}

// Matches reports whether the filter selects a note. It does not look at Limit.
func (f *NoteFilter) Matches(n *Note) bool {
	return (f.Job == 0 || f.Job == n.Job) && (f.Group == "" || f.Group == n.Group) && (f.What == "" || f.What == n.What) &&
		(f.Before == 0 || n.ID < f.Before)
}

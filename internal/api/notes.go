package api

import (
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// NoteIn is a note to add.
type NoteIn struct {
	Text string `json:"text" jsonschema:"minLength=1,maxLength=4096"`
}

// FeedbackIn is what a user says about a job.
type FeedbackIn struct {
	Text string `json:"text" jsonschema:"minLength=1,maxLength=2000"`
	// Expected says what the user expects of another attempt: works or fails.
	Expected string `json:"expected,omitempty" jsonschema:"enum=works,enum=fails"`
}

// NoteList is a list of notes and feedbacks, from the oldest to the newest.
type NoteList struct {
	Items []redrive.Note `json:"items"`
}

func (a *API) listNotes(c *Call) error {
	j, err := a.pathJob(c)
	if err != nil {
		return err
	}
	notes, err := a.client.Notes(c.Context(), redrive.NoteFilter{Job: j.ID, Limit: job.PageMax})
	if err != nil {
		return err
	}
	list := NoteList{Items: make([]redrive.Note, 0, len(notes))}
	for i := range notes {
		list.Items = append(list.Items, notes[len(notes)-1-i])
	}
	return c.JSON(http.StatusOK, list)
}

func (a *API) addNote(c *Call) error {
	var in NoteIn
	id, err := c.ID()
	if err == nil {
		err = c.Read(&in, false)
	}
	if err != nil {
		return err
	}
	if err := checkText(in.Text, len(in.Text), NoteMax, "bytes"); err != nil {
		return err
	}
	note, err := a.client.AddNote(c.Context(), c.By(""), redrive.Note{What: redrive.PlainNote, Job: id, Text: in.Text})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, note)
}

// checkText checks the text of a note.
func checkText(text string, n, most int, unit string) error {
	switch {
	case text == "":
		return InvalidField.Mistaken(Mistake{Pointer: "/text", Detail: "is missing or empty"})
	case n > most:
		return TooLarge.Mistaken(Mistake{Pointer: "/text", Detail: fmt.Sprintf("has %d %s: at most %d are allowed", n, unit, most), Bound: most})
	}
	return nil
}

// addFeedback adds what a user says about a job.
func (a *API) addFeedback(c *Call) error {
	var in FeedbackIn
	id, err := c.ID()
	if err == nil {
		err = c.Read(&in, false)
	}
	if err != nil {
		return err
	}
	if err := checkText(in.Text, utf8.RuneCountInString(in.Text), FeedbackMax, "characters"); err != nil {
		return err
	}
	if in.Expected != "" && in.Expected != "works" && in.Expected != "fails" {
		return InvalidField.Mistaken(Mistake{Pointer: "/expected", Detail: "must be works or fails"})
	}
	j, err := a.visible(c, id)
	if err != nil {
		return err
	}
	if c.Caller.Owner != "" {
		if err := a.ownerMay(&j, "give feedback on", !a.o.Kinds[j.Kind].Owner.NoFeedback); err != nil {
			return err
		}
	}
	given, err := a.client.Notes(c.Context(), redrive.NoteFilter{Job: id, What: redrive.Feedback, Limit: FeedbacksMax})
	if err != nil {
		return err
	}
	if len(given) >= FeedbacksMax {
		return TooLarge.New("job %d has %d feedbacks, which is the maximum", id, FeedbacksMax)
	}
	text := in.Text
	if in.Expected != "" {
		text += "\n(expected: another attempt " + in.Expected + ")"
	}
	note, err := a.client.AddNote(c.Context(), c.By(""), redrive.Note{What: redrive.Feedback, Job: id, Text: text})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, note)
}

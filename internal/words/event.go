package words

import (
	"strings"

	"github.com/redrive/redrive/event"
)

// EventText says what an event tells beyond its type and its object: the class and the reason, how the
// state changed, when the job is due, how far it has come, and the note.
func EventText(e *event.Event) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if e.Attempt > 0 {
		add("attempt " + Number(int64(e.Attempt)))
	}
	add(e.Class)
	add(string(e.Reason))
	if e.DueAt != 0 && e.DueAt > e.At {
		add("due " + Away(e.DueAt, e.At))
	}
	if e.Total > 0 {
		add(Number(e.Done) + " of " + Number(e.Total))
	} else if e.Done > 0 {
		add(Number(e.Done) + " done")
	}
	if e.Type != event.RedriveChanged && e.Type != event.GroupChanged { // their note is their object
		add(Shorten(e.Note, 200))
	}
	return Clean(strings.Join(parts, ", "))
}

package words

import (
	"fmt"

	"github.com/redrive/redrive/store"
)

// Counted is an action on dead letters, and the number of dead letters that it selects.
type Counted struct {
	store.Action
	N int64 // number of selected dead letters
	// Group is set if the action only changes whether future dead letters of this group are
	// ignored.
	Group *store.Group
}

// Question returns the text that a person is asked to confirm, without a question mark,
// such as "retry 1,234 dead letters (status pending, class X)".
func (c *Counted) Question() string {
	if c.Group != nil {
		return c.group("has no pending dead letters; ignore what dies in it from now on",
			"has no ignored dead letters; stop ignoring what dies in it")
	}
	text := fmt.Sprintf("%s %s", c.Do, Count(c.N, "dead letter"))
	if c.Filter == nil {
		return text
	}
	f := *c.Filter
	if len(f.Statuses) == 0 {
		f.Statuses = c.Do.Statuses()
	}
	return text + " (" + Filter(&f) + ")"
}

// Plan describes what the action would do, such as "3 dead letters would be retried".
func (c *Counted) Plan() string {
	return fmt.Sprintf("%s would be %s", Count(c.N, "dead letter"), Done(c.Do))
}

// Result returns a sentence with the number of dead letters that the action has changed.
func (c *Counted) Result(done int64) string {
	switch {
	case c.Group != nil && done == 0:
		return c.group("is ignored, and so are the jobs that die in it from now on", "is no longer ignored")
	case done == 0 && c.N == 0:
		return fmt.Sprintf("nothing to %s: no dead letter fits", c.Do)
	}
	return fmt.Sprintf("%s %s", Count(done, "dead letter"), Done(c.Do))
}

// Progress returns a sentence about an action that was stopped early. It gives the number of
// dead letters that the action has changed.
func (c *Counted) Progress(done int64) string {
	return fmt.Sprintf("%s of %s were %s, the rest is unchanged", Number(done), Count(c.N, "dead letter"), Done(c.Do))
}

// group returns a sentence that says whether the group is now ignored or no longer ignored.
func (c *Counted) group(ignored, reopened string) string {
	text := "group " + ShortGroup(c.Group.Fingerprint) + " "
	if c.Do == store.ActIgnore {
		return text + ignored
	}
	return text + reopened
}

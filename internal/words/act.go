package words

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/store"
)

// Counted is an action on dead letters, and the number of dead letters that it selects.
type Counted struct {
	store.Action
	N int64 // number of selected dead letters
	// Groups is set if the action only changes whether future dead letters of these groups are
	// ignored.
	Groups []store.Group
}

// Question returns the text that a person is asked to confirm, without a question mark,
// such as "retry 1,234 dead letters (status pending, class X)".
func (c *Counted) Question() string {
	if len(c.Groups) > 0 {
		one, several := "has no pending dead letters; ignore what dies in it from now on", "have no pending dead letters; ignore what dies in them from now on"
		if c.Do != store.ActIgnore {
			one, several = "has no ignored dead letters; stop ignoring what dies in it", "have no ignored dead letters; stop ignoring what dies in them"
		}
		return c.groups(one, several)
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
	case len(c.Groups) > 0 && done == 0:
		if c.Do != store.ActIgnore {
			return c.groups("is no longer ignored", "are no longer ignored")
		}
		return c.groups("is ignored, and so are the jobs that die in it from now on", "are ignored, and so are the jobs that die in them from now on")
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

// groups returns a sentence that names the groups. It ends with one if there is one group.
func (c *Counted) groups(one, several string) string {
	if len(c.Groups) == 1 {
		return "group " + ShortGroup(c.Groups[0].Fingerprint) + " " + one
	}
	const shown = 5
	names := make([]string, 0, shown)
	for i := range c.Groups[:min(len(c.Groups), shown)] {
		names = append(names, ShortGroup(c.Groups[i].Fingerprint))
	}
	text := "groups " + strings.Join(names, ", ")
	if n := len(c.Groups) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + " " + several
}

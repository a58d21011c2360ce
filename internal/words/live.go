package words

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/store"
)

// LiveCounted is an action on live jobs with the number of jobs that it selects.
type LiveCounted struct {
	store.LiveAction
	N int64 // number of selected jobs
}

// LiveDone returns what an action has done to a job: "cancelled" or "changed".
func LiveDone(do store.LiveAct) string {
	if do == store.LiveCancel {
		return "cancelled"
	}
	return "changed"
}

// Question returns the text that a person is asked to confirm, without a question mark,
// such as "cancel 1,234 jobs (kind mail)".
func (c *LiveCounted) Question() string {
	verb := "cancel"
	if c.Do == store.LiveAlter {
		verb = "change"
	}
	text := verb + " " + Count(c.N, "job")
	if what := JobFilter(&c.Filter); what != "" {
		text += " (" + what + ")"
	}
	if change := Change(&c.Change); change != "" {
		text += ": " + change
	}
	return text
}

// Plan describes what the action would do, such as "3 jobs would be cancelled".
func (c *LiveCounted) Plan() string {
	return fmt.Sprintf("%s would be %s", Count(c.N, "job"), LiveDone(c.Do))
}

// Result returns a sentence with the number of jobs that the action has changed.
func (c *LiveCounted) Result(done int64) string {
	if done == 0 && c.N == 0 {
		return "no job fits: nothing is " + LiveDone(c.Do)
	}
	return fmt.Sprintf("%s %s", Count(done, "job"), LiveDone(c.Do))
}

// Change returns what an action changes in jobs, such as "queue night, priority 4". It does
// not show a payload.
func Change(c *store.Change) string {
	var parts []string
	if c.Delay != nil {
		if *c.Delay == 0 {
			parts = append(parts, "due now")
		} else {
			parts = append(parts, "due in "+Span(*c.Delay))
		}
	}
	if c.Queue != "" {
		parts = append(parts, "queue "+c.Queue)
	}
	if c.Priority != 0 {
		parts = append(parts, fmt.Sprintf("priority %d", c.Priority))
	}
	switch {
	case c.Override == nil:
	case len(c.Override) == 0:
		parts = append(parts, "without retry settings of their own")
	default:
		parts = append(parts, "new retry settings")
	}
	return strings.Join(parts, ", ")
}

// JobFilter describes a filter of jobs, such as "state waiting or retrying, kind mail". It
// is "" for a filter that selects everything.
func JobFilter(f *store.Filter) string {
	var parts []string
	add := func(label, text string) {
		if text != "" {
			parts = append(parts, label+" "+text)
		}
	}
	states := make([]string, len(f.States))
	for i, s := range f.States {
		states[i] = s.String()
	}
	add("state", strings.Join(states, " or "))
	add("kind", f.Kind)
	add("queue", f.Queue)
	add("owner", f.Owner)
	if f.Batch != 0 {
		add("batch", fmt.Sprint(f.Batch))
	}
	add("worker", f.Worker)
	add("correlation", f.Correlation)
	if f.Attr.Name != "" {
		add("attribute", f.Attr.Name+"="+f.Attr.Value)
	}
	add("class", f.Class)
	add("group", ShortGroup(f.Group))
	if f.Text != "" {
		add("with", fmt.Sprintf("%q", f.Text))
	}
	for _, s := range []struct {
		what string
		store.Span
	}{{"created", f.Created}, {"due", f.Due}} {
		if s.Since > 0 {
			add(s.what+" since", Time(s.Since))
		}
		if s.Until > 0 {
			add(s.what+" before", Time(s.Until))
		}
	}
	return strings.Join(parts, ", ")
}

// RedriveWhat describes what a redrive does, and the jobs that it selects.
func RedriveWhat(r *store.Redrive) string {
	if r.Live == nil {
		return Filter(&r.Filter)
	}
	c := LiveCounted{LiveAction: r.LiveAction(0), N: r.Total}
	return c.Question()
}

// liveStanding does the same as RedriveStanding for a redrive of live jobs.
func liveStanding(r *store.Redrive) string {
	done, progress := LiveDone(r.Live.Do), fmt.Sprintf("%s of %s jobs are %s", Number(r.Released), Number(r.Total), LiveDone(r.Live.Do))
	switch r.State {
	case store.RedrivePaused:
		return "Paused: " + progress
	case store.RedriveStopped:
		return "Stopped by itself: " + r.Why
	case store.RedriveCompleted:
		return fmt.Sprintf("Completed: %s %s", Count(r.Released, "job"), done)
	case store.RedriveCancelled:
		return "Cancelled: " + progress + ", the rest is unchanged"
	case store.RedriveCanary, store.RedriveRamping, store.RedriveSettling, store.RedriveEnded:
	}
	return "Running: " + progress
}

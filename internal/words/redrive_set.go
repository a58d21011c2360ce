package words

import (
	"fmt"

	"github.com/redrive/redrive/store"
)

// RedriveLeft returns how many jobs had left the set before their turn: a person or another redrive has retried, resolved or
// ignored them, or they moved on. It is 0 as long as more jobs may come.
func RedriveLeft(r *store.Redrive) int64 {
	switch r.State {
	case store.RedriveSettling, store.RedriveCompleted, store.RedriveEnded:
		return max(0, r.Total-r.Released-r.Refused)
	case store.RedriveCanary, store.RedriveRamping, store.RedrivePaused, store.RedriveStopped, store.RedriveCancelled:
	}
	return 0
}

// LeftSentence says why a redrive has retried fewer jobs than its set had. It is "" if none has left the set.
func LeftSentence(r *store.Redrive) string {
	left := RedriveLeft(r)
	what := "it was retried, resolved or ignored otherwise"
	switch {
	case left == 0:
		return ""
	case r.Live != nil && left == 1:
		what = "it had moved on"
	case r.Live != nil:
		what = "they had moved on"
	case left > 1:
		what = "they were retried, resolved or ignored otherwise"
	}
	return fmt.Sprintf("%s had left the set before %s turn: %s.", Count(left, "job"), their(left), what)
}

func their(n int64) string {
	if n == 1 {
		return "its"
	}
	return "their"
}

// RedriveStarted says that a redrive has started, and how its set differs from the number of jobs that was shown before.
func RedriveStarted(r *store.Redrive, shown int64) string {
	text := fmt.Sprintf("Redrive %d has started with %s.", r.ID, Count(r.Total, "job"))
	if gone := shown - r.Total; gone > 0 {
		text += fmt.Sprintf(" The page had shown %s: %s %s been retried, resolved or ignored since.", Number(shown), Number(gone), have(gone))
	}
	return text
}

func have(n int64) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

// RedriveKnown says that a form that is sent again has started a redrive before.
func RedriveKnown(r *store.Redrive) string {
	text := fmt.Sprintf("this form has started redrive %d already, which is %s.", r.ID, r.State)
	if r.State.Active() {
		return "T" + text[1:]
	}
	return "Nothing was done: " + text
}

// RedriveTooEarly says that nothing is done because a person has to change something first for so many jobs of a set.
func RedriveTooEarly(n int64) string {
	of := "1 job of the set needs"
	if n != 1 {
		of = Number(n) + " jobs of the set need"
	}
	return fmt.Sprintf("Nothing was done: %s something changed first. Change it and tick that it is changed, or leave these jobs out.", of)
}

// RedriveNotStarted says why nothing is done for a set of which the page had shown a number of jobs and that has another
// number now: nothing is left of it, or jobs were reopened.
func RedriveNotStarted(shown, now int64) string {
	switch {
	case now > 0:
		return fmt.Sprintf("Nothing was done: the set has grown from %s to %s since the page was read. Look at it and start again.", Number(shown), Count(now, "job"))
	case shown == 1:
		return "Nothing was done: the job that the page had shown cannot be retried any more. It has been retried, resolved or ignored since."
	}
	return fmt.Sprintf("Nothing was done: none of the %s that the page had shown can be retried any more. They have been retried, resolved or ignored since.", Count(shown, "job"))
}

// RedriveControlled says what an operation of a person has made of a redrive.
func RedriveControlled(r *store.Redrive, do store.RedriveOp) string {
	switch do {
	case store.RedrivePause:
		return fmt.Sprintf("Redrive %d is paused.", r.ID)
	case store.RedriveResume:
		return fmt.Sprintf("Redrive %d goes on.", r.ID)
	case store.RedriveProceed:
		return fmt.Sprintf("Redrive %d goes on without its canary.", r.ID)
	case store.RedriveCancel:
	}
	what := "retried"
	if r.Live != nil {
		what = LiveDone(r.Live.Do)
	}
	switch {
	case r.Released == 0 && r.Total == 1:
		return fmt.Sprintf("Redrive %d is cancelled: its job had not been %s.", r.ID, what)
	case r.Released == 0:
		return fmt.Sprintf("Redrive %d is cancelled: none of its %s had been %s.", r.ID, Count(r.Total, "job"), what)
	}
	return fmt.Sprintf("Redrive %d is cancelled: %s of its %s had been %s.", r.ID, Number(r.Released), Count(r.Total, "job"), what)
}

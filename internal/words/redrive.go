package words

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// RedriveFinding says how far a redrive has come.
func RedriveFinding(r *store.Redrive) string {
	left := RedriveLeft(r)
	text := fmt.Sprintf("Redrive %d: %s of %s completed", r.ID, Number(r.Completed), Count(r.Total-left, "job"))
	if r.Live != nil {
		text = fmt.Sprintf("Redrive %d: %s of %s %s", r.ID, Number(r.Released), Count(r.Total-left, "job"), LiveDone(r.Live.Do))
	}
	if r.Dead > 0 {
		text += fmt.Sprintf(", %s dead again", Number(r.Dead))
	}
	if left > 0 {
		text += fmt.Sprintf(", %s had left the set", Number(left))
	}
	return text
}

// RedriveStanding returns a sentence with the state and the progress of a redrive.
func RedriveStanding(r *store.Redrive) string {
	if r.Live != nil {
		return liveStanding(r)
	}
	switch r.State {
	case store.RedriveCanary:
		first := min(int64(r.Canary), r.Total)
		if first == 1 && r.Answered == 0 {
			return "Canary: the first job has no result yet"
		}
		return fmt.Sprintf("Canary: %s of the first %s %s a result", Number(r.Answered), Count(first, "job"), have(first))
	case store.RedriveRamping:
		return fmt.Sprintf("Ramping: retried %s of %s", Number(r.Released), Count(r.Total, "job"))
	case store.RedriveSettling:
		return fmt.Sprintf("Settling: all jobs have been retried, %s have not ended", Number(r.Released-r.Completed-r.Dead-r.Cancelled))
	case store.RedrivePaused:
		return "Paused: no more jobs are retried until someone resumes it"
	case store.RedriveStopped:
		return "Stopped by itself: " + r.Why
	case store.RedriveCompleted:
		return fmt.Sprintf("Completed: %s of %s", Number(r.Completed), Count(r.Released, "job"))
	case store.RedriveEnded:
		return endedStanding(r)
	case store.RedriveCancelled:
		return "Cancelled: no more jobs are retried"
	}
	return string(r.State)
}

// RedrivePlan describes what a redrive will do.
func RedrivePlan(r *store.Redrive) string {
	parts := []string{Count(r.Total, "job")}
	if r.Canary > 0 {
		parts = append(parts, fmt.Sprintf("%d first", min(int64(r.Canary), r.Total)))
	}
	if r.Rate > 0 {
		parts = append(parts, fmt.Sprintf("at most %s/s", Number(int64(r.Rate))))
	}
	if r.Live == nil {
		parts = append(parts, stopPlan(r))
	}
	return strings.Join(parts, ", ")
}

// endedStanding describes a redrive whose jobs have all ended, and some of them have not completed.
func endedStanding(r *store.Redrive) string {
	text := fmt.Sprintf("Ended: %s of %s completed", Number(r.Completed), Count(r.Released, "job"))
	if r.Dead > 0 {
		text += fmt.Sprintf(", %s dead again", Number(r.Dead))
	}
	if r.Cancelled > 0 {
		text += fmt.Sprintf(", %s cancelled", Number(r.Cancelled))
	}
	return text
}

// RedriveFacts returns the plan and the numbers of a redrive.
func RedriveFacts(r *store.Redrive, now job.Micros) Facts {
	f := Facts{}
	f.Add("what", RedriveWhat(r))
	f.Add("plan", RedrivePlan(r))
	if r.Live == nil {
		addRetries(&f, r)
	} else {
		f.Add(LiveDone(r.Live.Do), fmt.Sprintf("%s of %s", Number(r.Released), Number(r.Total)))
	}
	f.Add("started", fmt.Sprintf("%s (%s) by %s", Time(r.CreatedAt), Away(r.CreatedAt, now), r.By))
	f.Add("reason", r.Reason)
	if r.EndedAt > 0 {
		f.Add("finished", fmt.Sprintf("%s (%s)", Time(r.EndedAt), Away(r.EndedAt, now)))
	}
	return f
}

// addRetries adds the change and the numbers of a redrive of dead letters.
func addRetries(f *Facts, r *store.Redrive) {
	change := fmt.Sprintf("priority %d for this life", r.Change.Priority)
	if r.Change.Priority == store.RedrivePriority {
		change += " (the lowest, so that new jobs run first)"
	}
	if r.Change.Queue != "" {
		change += ", queue " + r.Change.Queue
	}
	if r.Patch != nil {
		change += ", a patched payload"
	}
	f.Add("jobs get", change)
	f.Add("retried", fmt.Sprintf("%s of %s", Number(r.Released), Number(r.Total)))
	if r.Refused > 0 {
		f.Add("refused", fmt.Sprintf("%s; the first: %s", Count(r.Refused, "job"), r.RefusedWhy))
	}
	f.Add("answered", fmt.Sprintf("%s, of which %s failed again by the same cause and %s by another cause", Number(r.Answered), Number(r.Again), Number(r.Other)))
	f.Add("same cause", StopCauses(r, store.StopAgain))
	f.Add("other causes", StopCauses(r, store.StopOther))
	f.Add("dead by", StopCauses(r, store.StopDead))
	f.Add("ended", fmt.Sprintf("%s completed, %s dead, %s cancelled", Number(r.Completed), Number(r.Dead), Number(r.Cancelled)))
}

// RedriveCounts returns the numbers of a redrive in one line.
func RedriveCounts(r *store.Redrive) string {
	if r.Live != nil {
		return fmt.Sprintf("%s of %s %s", Number(r.Released), Number(r.Total), LiveDone(r.Live.Do))
	}
	parts := []string{
		fmt.Sprintf("%s of %s retried", Number(r.Released), Number(r.Total)),
		Number(r.Answered) + " answered", Number(r.Again) + " failed again", Number(r.Other) + " failed otherwise",
		Number(r.Completed) + " completed", Number(r.Dead) + " dead",
	}
	if r.Cancelled > 0 {
		parts = append(parts, Number(r.Cancelled)+" cancelled")
	}
	if r.Refused > 0 {
		parts = append(parts, Number(r.Refused)+" refused")
	}
	return strings.Join(parts, "  ")
}

package words

import (
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/store"
)

// Rate returns a short text for a rate, such as "10/s". It returns "" if there is no limit.
func Rate(r store.Rate) string {
	switch {
	case r.Unlimited():
		return ""
	case r.Per == time.Second:
		return fmt.Sprintf("%d/s", r.N)
	case r.Per == time.Minute:
		return fmt.Sprintf("%d/m", r.N)
	case r.Per == time.Hour:
		return fmt.Sprintf("%d/h", r.N)
	}
	return fmt.Sprintf("%d per %s", r.N, Span(r.Per))
}

// QueueSettings describes the mode of a queue and the settings that people made for the
// queue.
func QueueSettings(q store.Queue) string {
	parts := []string{q.Mode.String()}
	if q.Workers > 0 {
		parts = append(parts, Count(int64(q.Workers), "worker")+" in each process")
	}
	if q.Limit > 0 {
		parts = append(parts, fmt.Sprintf("at most %d running over all processes", q.Limit))
	}
	if !q.Rate.Unlimited() {
		parts = append(parts, "at most "+Rate(q.Rate)+" started")
	}
	return strings.Join(parts, ", ")
}

// Stopped describes the unfinished jobs of a stopped worker: running jobs that it handed
// back, and ended jobs whose outcomes could not be stored.
func Stopped(jobs, unsaved int) string {
	parts := []string{"stopped"}
	switch {
	case jobs == 1:
		parts = append(parts, "1 job was handed back, which used up no attempt")
	case jobs > 1:
		parts = append(parts, Number(int64(jobs))+" jobs were handed back, which used up no attempt")
	}
	switch {
	case unsaved == 1:
		parts = append(parts, "1 job has ended and its outcome could not be stored: it runs again when its lease is over")
	case unsaved > 1:
		parts = append(parts, Number(int64(unsaved))+
			" jobs have ended and their outcomes could not be stored: they run again when their leases are over")
	}
	return strings.Join(parts, "; ")
}

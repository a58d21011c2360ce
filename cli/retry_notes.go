package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// retryNotes returns, for jobs that are about to be retried, what their person should know: a deadline that has
// passed is removed, and where the policy switches retries off, the job runs only once. Jobs that do not exist have
// no notes: the retry itself reports them.
func (a *app) retryNotes(ctx context.Context, client *redrive.Client, ids []job.ID) (map[job.ID][]string, error) {
	notes := make(map[job.ID][]string)
	now := job.At(a.now())
	for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), job.PageMax) {
		jobs, err := client.GetAll(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("read the jobs to retry: %w", err)
		}
		last, err := client.Latest(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("read the failures of the jobs to retry: %w", err)
		}
		for i := range jobs {
			if j := &jobs[i]; j.State == job.Dead && j.Deadline > 0 && j.Deadline <= now {
				notes[j.ID] = append(notes[j.ID], fmt.Sprintf("its deadline, %s, has passed and is removed", words.Time(j.Deadline)))
			}
		}
		for i := range last {
			if f := &last[i]; words.RetriesOff(f) {
				notes[f.Job] = append(notes[f.Job], "its policy switches retries off (retry: false), so it runs once and is dead again if it fails")
			}
		}
	}
	return notes, nil
}

// printNotes prints the notes of a job that was retried.
func (a *app) printNotes(notes map[job.ID][]string, id job.ID) {
	for _, note := range notes[id] {
		fmt.Fprintf(a.stderr, "redrive: job %d: %s\n", id, note)
	}
}

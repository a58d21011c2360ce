package page

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

const (
	costRead  = 20 // jobs of a set whose costs are read for its worst cost
	costKinds = 5  // kinds whose ended jobs are read instead if none of the jobs read has a cost
	costEnded = 10 // of these jobs, by kind
)

// dearestOf returns the largest cost among jobs. A list of jobs has no costs, so each job is read.
func dearestOf(ctx context.Context, client *redrive.Client, ids []job.ID) (dearest int64, err error) {
	for _, id := range ids {
		j, err := client.Get(ctx, id)
		if errors.Is(err, redrive.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		dearest = max(dearest, j.Cost)
	}
	return dearest, nil
}

// worstText estimates the highest cost of a set: the cost of the dearest job of a sample, times the number of jobs. It
// returns "" if no job of the sample has a cost.
func worstText(count, dearest int64, among string) string {
	if dearest == 0 || count == 0 {
		return ""
	}
	return fmt.Sprintf("%s, if each costs as much as the dearest of %s has cost so far (%s)", words.Dollars(dearest*count), among, words.Dollars(dearest))
}

// worstOfDead says what the retry of a set of dead letters costs at worst.
func worstOfDead(ctx context.Context, client *redrive.Client, f redrive.DeadFilter, through, count int64) (string, error) {
	if len(f.Statuses) == 0 {
		f.Statuses = redrive.ActRetry.Statuses()
	}
	page, err := client.DeadLetters(ctx, f, redrive.DeadPaging{Before: through + 1, Limit: costRead})
	if err != nil {
		return "", err
	}
	ids := make([]job.ID, len(page.Entries))
	for i := range page.Entries {
		ids[i] = page.Entries[i].DeadLetter.Job
	}
	dearest, err := dearestOf(ctx, client, ids)
	return worstText(count, dearest, fmt.Sprintf("the newest %d", len(ids))), err
}

// worstOfLive says what live jobs that are made to run cost at worst. ids are the first of them. If none of these has
// run yet, the newest jobs of their most frequent kinds that have ended stand for them.
func worstOfLive(ctx context.Context, client *redrive.Client, ids []job.ID, kinds []kindCount, count int64) (string, error) {
	dearest, err := dearestOf(ctx, client, ids[:min(len(ids), costRead)])
	if err != nil || dearest > 0 {
		return worstText(count, dearest, "the newest"), err
	}
	for _, k := range kinds[:min(len(kinds), costKinds)] {
		page, err := client.List(ctx, redrive.JobFilter{Kind: k.Kind, States: []job.State{job.Completed, job.Dead}, Limit: costEnded})
		if err != nil {
			return "", err
		}
		ended := make([]job.ID, len(page.Jobs))
		for i := range page.Jobs {
			ended[i] = page.Jobs[i].ID
		}
		cost, err := dearestOf(ctx, client, ended)
		if err != nil {
			return "", err
		}
		dearest = max(dearest, cost)
	}
	return worstText(count, dearest, "the newest ended jobs of their kinds"), nil
}

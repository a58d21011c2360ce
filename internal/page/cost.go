package page

import (
	"context"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// costRead is the number of jobs whose costs are read for the worst cost of a set.
const costRead = 100

// worstCost says what the retry of a set costs at worst: as much for each job as the dearest of the
// newest has cost until now. It is "" if none of them has cost anything.
func worstCost(ctx context.Context, client *redrive.Client, f redrive.DeadFilter, through, count int64) (string, error) {
	if len(f.Statuses) == 0 {
		f.Statuses = redrive.ActRetry.Statuses()
	}
	page, err := client.DeadLetters(ctx, f, redrive.DeadPaging{Before: through + 1, Limit: costRead})
	if err != nil || len(page.Entries) == 0 {
		return "", err
	}
	ids := make([]job.ID, len(page.Entries))
	for i := range page.Entries {
		ids[i] = page.Entries[i].DeadLetter.Job
	}
	jobs, err := client.GetAll(ctx, ids)
	if err != nil {
		return "", err
	}
	dearest := int64(0)
	for i := range jobs {
		dearest = max(dearest, jobs[i].Cost)
	}
	if dearest == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s, if each costs as much as the dearest of the newest %d has cost so far (%s)",
		words.Dollars(dearest*count), len(jobs), words.Dollars(dearest)), nil
}

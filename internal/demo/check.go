package demo

import (
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// check returns an UntrueError if the demo did not go as expected. It reads the data from
// the store, not from the screen.
func (s *stage) check(ctx context.Context) error {
	if err := s.observe(ctx); err != nil {
		return err
	}
	var missing []string
	for _, find := range []func(context.Context) ([]string, error){s.missingJobs, s.missingTrouble, s.missingRedrives} {
		found, err := find(ctx)
		if err != nil {
			return err
		}
		missing = append(missing, found...)
	}
	if len(missing) > 0 {
		return &UntrueError{missing}
	}
	return nil
}

// missingJobs describes the jobs that were lost. It compares the counters of the store, its
// events, and the results that the upstream received.
func (s *stage) missingJobs(ctx context.Context) (missing []string, err error) {
	counts, err := s.store.Counts(ctx)
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	stored := map[job.State]int{}
	for _, c := range counts {
		stored[c.State] += int(c.N)
	}
	byEvents := s.ledger.total()
	for _, state := range job.States {
		if stored[state] != byEvents[state] {
			missing = append(missing, fmt.Sprintf("%d jobs are %s by the counters, %d by the events", stored[state], state, byEvents[state]))
		}
	}
	if ended := stored[job.Completed] + stored[job.Dead]; ended != len(s.jobs) {
		missing = append(missing, fmt.Sprintf("%d jobs were enqueued, but only %d have ended", len(s.jobs), ended))
	}
	delivered := 0
	for i := range s.jobs {
		if s.upstream.delivered(s.jobs[i].key) {
			delivered++
		}
	}
	if delivered < stored[job.Completed] {
		missing = append(missing, fmt.Sprintf("%d jobs have completed, but the upstream received %d results", stored[job.Completed], delivered))
	}
	if n := s.leftovers(); n > 0 {
		missing = append(missing, fmt.Sprintf("%d temporary folders of runs were not removed", n))
	}
	return missing, nil
}

// missingTrouble describes those expected failures and retries that did not happen.
func (s *stage) missingTrouble(context.Context) (missing []string, err error) {
	met, _ := s.upstream.tally()
	for _, t := range []trouble{
		tooMany, tooManyDate, tooManyLong, unavailable, notFound, wrongKey, hang, reset, cut, fileBroken, fileStuck, readOnly,
	} {
		if met[t] == 0 {
			missing = append(missing, fmt.Sprintf("the upstream never had this fault: %s", t))
		}
	}
	for _, want := range []struct{ kind, class string }{
		{kindTranscribe, "NotFound"}, {kindTranscribe, "RateLimitExceeded"}, {kindRender, "StorageUploadFailed"},
		{kindRender, "ImageDownloadFailed"}, {kindOCR, "AuthenticationFailure"}, {kindOCR, "ClientError"},
		{kindWatermark, "BrokenInput"}, {kindWatermark, "MissingInput"}, {kindChat, "BusinessLogicError"},
	} {
		if !s.hasGroup(want.kind, want.class) {
			missing = append(missing, fmt.Sprintf("no group of dead letters has kind %s and class %s", want.kind, want.class))
		}
	}
	for _, want := range []struct{ kind, class string }{
		{kindTranscribe, "NetworkTimeout"}, {kindTranscribe, "AttemptTimeout"}, {kindTranscribe, "Panic"}, {kindRender, "FFmpegError"},
		{kindOCR, "RateLimitExceeded"}, {kindWatermark, "ResourceConstraint"}, {kindChat, "TemporaryServiceError"},
	} {
		if s.ledger.pick(func(a *account) bool { return a.kind == want.kind && slices.Contains(a.classes, want.class) }) == nil {
			missing = append(missing, fmt.Sprintf("no job of kind %s was retried after a failure of class %s", want.kind, want.class))
		}
	}
	if f := s.figures(); f.atOnce == 0 || f.afterRetries == 0 {
		missing = append(missing, fmt.Sprintf("too few jobs completed: %d at the first attempt and %d after retries", f.atOnce, f.afterRetries))
	}
	return missing, nil
}

func (s *stage) hasGroup(kind, class string) bool {
	for i := range s.groups {
		if s.groups[i].Kind == kind && s.groups[i].Class == class {
			return true
		}
	}
	return false
}

// missingRedrives describes what went wrong with the two redrives.
func (s *stage) missingRedrives(context.Context) (missing []string, err error) {
	if len(s.redrives) != 2 {
		return []string{fmt.Sprintf("there are %d redrives, want 2", len(s.redrives))}, nil
	}
	early, late := &s.redrives[1], &s.redrives[0]
	if early.State != store.RedriveStopped || early.Released != canary || early.Again != canary {
		missing = append(missing, fmt.Sprintf("redrive %d is %s with %d jobs released and %d failed again; it should have stopped after %d",
			early.ID, early.State, early.Released, early.Again, canary))
	}
	if late.State != store.RedriveCompleted || late.Completed != late.Total {
		missing = append(missing, fmt.Sprintf("redrive %d is %s with %d of %d jobs completed; all should have completed", late.ID, late.State, late.Completed, late.Total))
	}
	for i := range s.groups {
		if g := &s.groups[i]; g.Fingerprint == late.Filter.Group && g.Pending > 0 {
			missing = append(missing, fmt.Sprintf("%d dead letters of the repaired cause are still pending", g.Pending))
		}
	}
	return missing, nil
}

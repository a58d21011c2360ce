package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
)

// selectFlags are the flags that select jobs and dead letters by the same fields.
type selectFlags struct {
	Kind        string `placeholder:"NAME" help:"Only jobs of this kind."`
	Queue       string `placeholder:"NAME" help:"Only jobs of this queue."`
	Owner       string `placeholder:"NAME" help:"Only jobs of this owner."`
	Worker      string `placeholder:"NAME" help:"Only jobs that this process runs or ran last."`
	Correlation string `placeholder:"ID" help:"Only with this correlation id."`
	Key         string `placeholder:"KEY" help:"Only the job that holds this idempotency key of --kind and --owner."`
	Attr        string `placeholder:"NAME=VALUE" help:"Only with this attribute."`
	Batch       int64  `placeholder:"N" help:"Only jobs of this batch."`
	Class       string `placeholder:"CLASS" help:"Only retrying and dead jobs whose last failure has this class, such as NetworkTimeout."`
	Group       string `placeholder:"GROUP" help:"Only retrying and dead jobs of this root cause: the name of a group, or its beginning; see \"dlq groups\"."`
	Text        string `placeholder:"TEXT" help:"Only retrying and dead jobs with this text in the message; case does not matter."`
	Reason      string `placeholder:"REASON" help:"Only jobs that are dead for this reason, such as max_retries_exceeded."`
}

// fields makes a filter from the flags, without the group. The hint is added to the error
// about an unknown reason of death.
func (f *selectFlags) fields(hint string) (filter redrive.JobFilter, err error) {
	filter = redrive.JobFilter{
		Kind: f.Kind, Queue: f.Queue, Owner: f.Owner, Worker: f.Worker, Correlation: f.Correlation, Key: f.Key,
		Batch: f.Batch, Class: f.Class, Text: f.Text, Reason: job.Reason(f.Reason),
	}
	if f.Reason != "" && !slices.Contains(reasons[:], filter.Reason) {
		return filter, usagef("--reason: %s%s", suggest.Unknown("reason", f.Reason, texts(reasons[:])), hint)
	}
	if f.Attr != "" {
		name, value, ok := strings.Cut(f.Attr, "=")
		if !ok || name == "" {
			return filter, usagef("--attr %q: want NAME=VALUE", f.Attr)
		}
		filter.Attr = redrive.JobAttr{Name: name, Value: value}
	}
	return filter, nil
}

// stateFlag is the value of a flag: the state of a job.
type stateFlag job.State

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *stateFlag) UnmarshalText(text []byte) error {
	state, err := wordOf("state", text, job.States[:])
	*s = stateFlag(state)
	return err
}

// filterFlags are the flags that select jobs in any state and order a list of them.
type filterFlags struct {
	State []stateFlag `placeholder:"STATE,..." help:"waiting, retrying, running, completed, dead or cancelled."`
	selectFlags
	Since string           `placeholder:"WHEN" help:"Created at or after this time, such as 2026-01-31T18:00, or a duration ago, such as 2h or 3d. With \"--order ended\": ended at or after this time. With \"--order due\": due at this time, or after this duration."`
	Until string           `placeholder:"WHEN" help:"Created, due or ended before this time; see --since."`
	Order redrive.JobOrder `placeholder:"ORDER" help:"newest (the default), due (waiting and retrying jobs, the next one first) or ended (the latest end first)."`
}

// filter makes a filter from the flags. It looks up the full fingerprint of the group.
func (f *filterFlags) filter(ctx context.Context, a *app, client *redrive.Client) (redrive.JobFilter, error) {
	filter, err := f.fields("")
	if err != nil {
		return filter, err
	}
	filter.Order = f.Order
	for _, state := range f.State {
		filter.States = append(filter.States, job.State(state))
	}
	if of := f.Order.States(); of != nil {
		for _, s := range filter.States {
			if !slices.Contains(of, s) {
				return filter, usagef("--order %s lists no %s jobs", f.Order, s)
			}
		}
	}
	span := map[redrive.JobOrder]*redrive.Span{redrive.Newest: &filter.Created, redrive.Due: &filter.Due, redrive.Ended: &filter.Ended}[f.Order]
	when := past
	if f.Order == redrive.Due {
		when = future
	}
	if span.Since, err = when("--since", f.Since, a.now()); err != nil {
		return filter, err
	}
	if span.Until, err = when("--until", f.Until, a.now()); err != nil {
		return filter, err
	}
	if err := filter.Validate(); err != nil {
		return filter, &usageError{err}
	}
	if f.Group != "" {
		filter.Group, err = findGroup(ctx, client, f.Group)
	}
	return filter, err
}

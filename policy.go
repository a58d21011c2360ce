package redrive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/store"
)

// policies are the policy that was set and the one that decides: the same under
// the schedules and ceilings of the program.
type policies struct {
	set, effective *policy.Policy
}

// Policy returns the policy that decides: the one that was set, under the
// schedules and ceilings of the program.
func (c *Client) Policy() *policy.Policy { return c.policies.Load().effective }

// SetPolicy puts another policy in force, for the failures from now on, and keeps
// it in the store, so that what it decides can be explained later. Jobs that wait
// keep their due times. After an error the old one stays in force; nil is the
// built-in default.
func (c *Client) SetPolicy(ctx context.Context, by By, p *policy.Policy) error {
	if p == nil {
		p = policy.Default()
	}
	c.setting.Lock() // so that what is published last is in force
	defer c.setting.Unlock()
	c.mu.Lock()
	next, err := c.underConfig(p)
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("redrive: %w", err)
	}
	if err := c.publish(ctx, by, p); err != nil {
		return err
	}
	c.policies.Store(next)
	return nil
}

// enforce puts the policy that was set under the schedules of the handlers, which
// are all known now, and keeps it in the store. If the store does not take it, the
// client works all the same: each decision tells what it was made by. The caller
// holds both locks.
func (c *Client) enforce(ctx context.Context) error {
	p, err := c.underConfig(c.policies.Load().set)
	if err != nil {
		return err
	}
	c.policies.Store(p)
	if err := c.publish(ctx, By{Actor: c.config.Name, Reason: "start"}, p.set); err != nil {
		c.config.Logger.WarnContext(ctx, "the policy could not be kept in the store", "error", err)
	}
	return nil
}

// underConfig puts a policy under the schedules and ceilings of the program. The
// caller holds the lock, unless nobody else knows the client yet.
func (c *Client) underConfig(p *policy.Policy) (*policies, error) {
	effective := p.WithLimits(policy.Limits{MaxAttempts: c.config.AttemptsMax, MaxAge: c.config.MaxAge})
	effective, err := effective.WithSchedule("", c.config.Retry)
	for _, kind := range slices.Sorted(maps.Keys(c.handlers)) {
		if err == nil {
			effective, err = effective.WithSchedule(kind, c.handlers[kind].options.Retry)
		}
	}
	if err != nil {
		return nil, err
	}
	return &policies{set: p, effective: effective}, nil
}

// publish keeps a policy in the store.
func (c *Client) publish(ctx context.Context, by By, p *policy.Policy) error {
	err := c.store.PublishPolicy(ctx, by, store.Policy{Hash: p.Hash(), Name: p.Name(), Body: p.Source()})
	if err != nil {
		return fmt.Errorf("publish policy %q (%s): %w", p.Name(), policy.ShortHash(p.Hash()), err)
	}
	return nil
}

// admit asks the rules of a policy about a claimed job; nil when none has anything
// to say.
func (c *Client) admit(p *policy.Policy, claim *job.Claim) *policy.Admission {
	if !p.HasRules(claim.Kind) {
		return nil
	}
	a := p.Admit(&policy.Job{
		Kind: claim.Kind, Queue: claim.Queue, Owner: claim.Owner, Priority: int(claim.Priority), Attrs: claim.Attrs,
	})
	if a != nil {
		c.tellFailed(claim.ID.String(), p, a)
	}
	return a
}

// route sends a job that is enqueued where the rules want it.
func (c *Client) route(n *job.New) error {
	p := c.Policy()
	if !p.HasRules(n.Kind) {
		return nil
	}
	a := p.Admit(&policy.Job{Kind: n.Kind, Queue: n.Queue, Owner: n.Owner, Priority: int(n.Priority), Attrs: n.Attrs})
	if a == nil {
		return nil
	}
	c.tellFailed("", p, a)
	if a.Queue != "" {
		if err := store.ValidName("queue", a.Queue); err != nil {
			return fmt.Errorf("rules %v of policy %q: %w", a.Rules, p.Name(), err)
		}
		n.Queue = a.Queue
	}
	if a.Priority != 0 {
		n.Priority = int8(a.Priority)
	}
	return nil
}

// tellFailed logs the rules that could not be evaluated. They fail with every job
// that is enqueued, runs or fails, so each is told once, and then once a minute at
// most, with how often it was meanwhile.
func (c *Client) tellFailed(id string, p *policy.Policy, a *policy.Admission) {
	for _, problem := range a.Failed {
		if since, tell := c.told.again(c.config.now(), p.Hash(), problem.String()); tell {
			c.config.Logger.Warn("a rule of the policy could not be evaluated and does not match",
				"job", id, "problem", problem.String(), "not_told", since)
		}
	}
}

// heldError is the end of a run that a rule did not let begin.
type heldError struct {
	hold  *policy.Hold
	rules []string
}

func (e *heldError) Error() string {
	return fmt.Sprintf("held by rules %v of the policy before it ran: a person has to release or refuse it", e.rules)
}

// admitting returns the handler of a kind behind the rules of the policy. A job
// that was held and that a person has released, which opened its next life, is not
// held again.
func (c *Client) admitting(h *handler) func(context.Context, *engine.Run) error {
	return func(ctx context.Context, r *engine.Run) error {
		a := c.admit(c.Policy(), &r.Claim)
		if a != nil && a.Would != nil && a.Would.Hold != nil {
			c.config.Logger.InfoContext(ctx, "rules of the policy would hold the job, but it only observes", "job", r.Claim.ID.String(), "rules", a.Rules)
		}
		if a != nil && a.Hold != nil {
			released, err := c.released(ctx, &r.Claim)
			if err != nil {
				return err
			}
			if !released {
				return &heldError{a.Hold, a.Rules}
			}
		}
		ctx, ledger := retry.WithJob(ctx, retry.Job{
			ID: r.Claim.ID.String(), Correlation: r.Claim.Correlation, Deadline: r.Claim.Deadline.Time(), Logger: c.config.Logger,
			Resends: c.config.Resends,
		})
		r.CountSends(ledger.Sends)
		return h.handle(ctx, r, a)
	}
}

// released reports whether the job was held in an earlier life.
func (c *Client) released(ctx context.Context, claim *job.Claim) (bool, error) {
	if claim.Life == 1 {
		return false, nil
	}
	failures, err := c.store.Failures(ctx, claim.ID)
	if err != nil {
		return false, fmt.Errorf("look for the release of the job: %w", err)
	}
	return slices.ContainsFunc(failures, func(f job.Failure) bool { return f.How == job.ByHold && f.Life < claim.Life }), nil
}

// holding returns the outcome of a run that was held; ok says that it was.
func (c *Client) holding(claim *job.Claim, end *engine.End) (o job.Outcome, ok bool) {
	held, ok := errors.AsType[*heldError](end.Err)
	if !ok {
		return o, false
	}
	return job.Outcome{
		Cause: job.Held, To: job.Dead, Reason: job.ManualReview,
		Failure: &job.Failure{
			How: job.ByHold, Class: classManualReview, Message: held.Error(), UserMessage: held.hold.Message,
			Fingerprint: job.Fingerprint(claim.Kind, classManualReview, ""),
		},
	}, true
}

// classManualReview is the class of jobs that wait for a person's decision.
const classManualReview = "ManualReview"

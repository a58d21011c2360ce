package redrive

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
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
// client works all the same: each decision names the policy that made it. The caller
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
	effective := p.WithLimits(policy.Limits{MaxAttempts: c.config.MaxAttempts, MaxAge: c.config.MaxAge})
	effective, err := effective.WithSchedule("", c.config.Schedule)
	for _, kind := range slices.Sorted(maps.Keys(c.handlers)) {
		if err == nil {
			effective, err = effective.WithSchedule(kind, c.handlers[kind].options.Schedule)
		}
	}
	if err != nil {
		return nil, err
	}
	return &policies{set: p, effective: effective}, nil
}

// publish keeps a policy in the store.
func (c *Client) publish(ctx context.Context, by By, p *policy.Policy) error {
	err := c.store.PublishPolicy(ctx, by, store.StoredPolicy{Hash: p.Hash(), Name: p.Name(), Body: p.Source()})
	if err != nil {
		return fmt.Errorf("publish policy %q (%s): %w", p.Name(), policy.ShortHash(p.Hash()), err)
	}
	return nil
}

// admission is what the rules of a policy said about a run before it began.
type admission struct {
	policy *policy.Policy
	says   *policy.Admission // nil when no rule matched
}

// admit asks the rules of the policy about a run that is to begin; the engine calls it
// before the handler. The outcome is that of a run that a rule holds. The admission is
// nil where the policy has no rules for the kind.
func (c *Client) admit(claim *job.Claim) (any, *job.Outcome) {
	p := c.Policy()
	if !p.HasRules(claim.Kind) {
		return nil, nil
	}
	a := &admission{p, c.evaluate(p, claim)}
	if a.says != nil && a.says.Would != nil && a.says.Would.Hold != nil {
		c.config.Logger.Info("rules of the policy would hold the job, but it only observes", "job", claim.ID.String(), "rules", a.says.Rules)
	}
	o, held := decide.Held(a.says, claim, c.config.Name)
	if !held {
		return a, nil
	}
	switch released, err := c.released(claim); {
	case err != nil:
		c.config.Logger.Warn("a job that a rule holds is handed back", "job", claim.ID.String(), "error", err)
		o = (&job.Ending{}).Outcome(claim, job.Interrupted, job.Waiting)
	case released:
		return a, nil
	}
	return a, &o
}

// released reports whether the job was held in an earlier life.
func (c *Client) released(claim *job.Claim) (bool, error) {
	if claim.Life == 1 {
		return false, nil
	}
	failures, err := c.store.Failures(context.Background(), claim.ID)
	if err != nil {
		return false, fmt.Errorf("look for the release of the job: %w", err)
	}
	return slices.ContainsFunc(failures, func(f job.Failure) bool { return f.How == job.ByHold && f.Life < claim.Life }), nil
}

// evaluate asks the rules of a policy about a claimed job; nil when none has anything
// to say.
func (c *Client) evaluate(p *policy.Policy, claim *job.Claim) *policy.Admission {
	if !p.HasRules(claim.Kind) {
		return nil
	}
	a := p.Admit(&policy.RuleInput{
		Kind: claim.Kind, Queue: claim.Queue, Owner: claim.Owner, Priority: int(claim.Priority), Attrs: claim.Attrs,
	})
	if a != nil {
		c.logFailedRules(claim.ID.String(), p, a)
	}
	return a
}

// admissionOf returns what the rules of the policy that decides say about a run: what
// they said before it began, unless the policy was replaced meanwhile.
func (c *Client) admissionOf(p *policy.Policy, claim *job.Claim, e *job.Ending) *policy.Admission {
	if a, ok := e.Admission.(*admission); ok && a.policy.Hash() == p.Hash() {
		return a.says
	}
	return c.evaluate(p, claim)
}

// route sends a job that is enqueued where the rules want it.
func (c *Client) route(n *job.New) error {
	p := c.Policy()
	if !p.HasRules(n.Kind) {
		return nil
	}
	a := p.Admit(&policy.RuleInput{Kind: n.Kind, Queue: n.Queue, Owner: n.Owner, Priority: int(n.Priority), Attrs: n.Attrs})
	if a == nil {
		return nil
	}
	c.logFailedRules("", p, a)
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

// logFailedRules logs the rules that could not be evaluated. They fail with every job
// that is enqueued or runs, so the same line is logged once a minute at most, with the
// number of lines that were left out.
func (c *Client) logFailedRules(id string, p *policy.Policy, a *policy.Admission) {
	for _, problem := range a.Failed {
		if suppressed, ok := c.failedRules.allow(c.config.now(), p.Hash(), problem.String()); ok {
			c.config.Logger.Warn("a rule of the policy could not be evaluated and does not match",
				"job", id, "problem", problem.String(), "suppressed", suppressed)
		}
	}
}

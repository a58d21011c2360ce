package redrive

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// policies holds the policy that was set and the effective policy. The effective policy
// is the policy that was set, with the schedules and limits of the program added.
type policies struct {
	set, effective *policy.Policy

	terms atomic.Pointer[map[string]string] // encoded terms by kind; a cache, replaced as a whole
}

// termsOf returns the encoded terms for jobs of a kind by the effective policy. Terms say
// what the policy does after crashes and at deadlines.
func (p *policies) termsOf(kind string) string {
	known := p.terms.Load()
	if known != nil {
		if terms, ok := (*known)[kind]; ok {
			return terms
		}
	}
	of := decide.Terms(p.effective, kind)
	terms := of.Encode()
	next := make(map[string]string)
	if known != nil {
		if len(*known) >= policy.KindsMax {
			return terms
		}
		maps.Copy(next, *known)
	}
	next[kind] = terms
	p.terms.CompareAndSwap(known, &next) // if another goroutine has replaced the cache meanwhile, a later call adds this kind
	return terms
}

// termsOf returns the terms for jobs of a kind by the effective policy.
func (c *Client) termsOf(kind string) string { return c.policies.Load().termsOf(kind) }

// Policy returns the effective policy: the policy that was set, with the schedules and
// limits of the program (Config and HandlerOptions) added.
func (c *Client) Policy() *policy.Policy { return c.policies.Load().effective }

// SetPolicy replaces the policy for all later failures. It also saves the policy in the
// store, so that its decisions can be explained later. Jobs that already wait keep
// their due times. After an error the client continues with the old policy. A nil
// policy means the built-in default.
func (c *Client) SetPolicy(ctx context.Context, by By, p *policy.Policy) error {
	if p == nil {
		p = policy.Default()
	}
	c.setting.Lock() // held during the whole call, so that the policy that is saved last is also the policy that the client uses
	defer c.setting.Unlock()
	if err := c.adopt(ctx, by, p); err != nil {
		return err
	}
	c.base = p
	return nil
}

// adopt puts a policy with the labels of people into force, and saves it. The caller holds c.setting.
func (c *Client) adopt(ctx context.Context, by By, p *policy.Policy) error {
	p = c.withLabels(ctx, p)
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

// withLabels returns a policy with the labels of people. It logs those that the policy cannot take.
func (c *Client) withLabels(ctx context.Context, p *policy.Policy) *policy.Policy {
	if len(c.labelled) == 0 {
		return p
	}
	with, unknown, problems := p.WithLabels(c.labelled)
	for i := range unknown {
		c.config.Logger.WarnContext(ctx, "the policy does not define the class of a label, so the label is left out", "class", string(unknown[i].Class), "kind", unknown[i].Kind)
	}
	if len(problems) > 0 {
		c.config.Logger.WarnContext(ctx, "the labels of people cannot be added to the policy, so they are left out", "problem", problems[0].String())
		return p
	}
	return with
}

// enforce adds the schedules of all handlers to the policy that was set, and saves the
// result in the store. If this fails, the client works nevertheless, because each
// decision names its policy. The caller holds both locks.
func (c *Client) enforce(ctx context.Context) error {
	p, err := c.underConfig(c.policies.Load().set)
	if err != nil {
		return err
	}
	c.policies.Store(p)
	if err := c.publish(ctx, By{Actor: c.config.Name, Reason: "start"}, p.set); err != nil {
		c.config.Logger.WarnContext(ctx, "the policy could not be saved in the store", "error", err)
	}
	return nil
}

// underConfig adds the schedules and limits of the program to a policy. The caller
// holds the lock, unless the client is still being made.
func (c *Client) underConfig(p *policy.Policy) (*policies, error) {
	effective := p.WithLimits(policy.Limits{MaxAttempts: c.config.MaxAttempts, MaxAge: c.config.MaxAge})
	effective, err := effective.WithSchedule("", c.config.Schedule)
	for _, kind := range slices.Sorted(maps.Keys(c.handlers)) {
		if err == nil {
			effective, err = effective.WithSchedule(kind, c.handlers[kind].options.schedule(kind, effective))
		}
	}
	if err != nil {
		return nil, invalid(err)
	}
	return &policies{set: p, effective: effective}, nil
}

// schedule returns the schedule of a kind under a policy; nil means that the policy decides.
func (o *HandlerOptions) schedule(kind string, p *policy.Policy) *policy.Schedule {
	if _, named := p.Spec().Kinds[kind]; o.Schedule != nil || o.ScheduleDefault == nil || named {
		return o.Schedule
	}
	s := *o.ScheduleDefault
	longest := p.Limits().MaxWait
	s.First, s.Cap, s.Waits = min(s.First, longest), min(s.Cap, longest), slices.Clone(s.Waits)
	for i, w := range s.Waits {
		s.Waits[i] = min(w, longest)
	}
	return &s
}

// limitsOf returns the time limit of a run, and the number of crashes after which a job is dead. The
// options of the handler take precedence over the policy.
func (c *Client) limitsOf(kind string, o *HandlerOptions) (timeout time.Duration, maxCrashes int) {
	if o.Timeout > 0 && o.MaxCrashes > 0 {
		return o.Timeout, o.MaxCrashes
	}
	run := c.Policy().RunsOf(kind)
	return cmp.Or(o.Timeout, run.Timeout, o.TimeoutDefault), cmp.Or(o.MaxCrashes, run.MaxCrashes, job.MaxCrashes)
}

// publish saves a policy in the store.
func (c *Client) publish(ctx context.Context, by By, p *policy.Policy) error {
	err := c.store.PublishPolicy(ctx, by, store.StoredPolicy{Hash: p.Hash(), Name: p.Name(), Body: p.Source()})
	if err != nil {
		return fmt.Errorf("save policy %q (%s) in the store: %w", p.Name(), policy.ShortHash(p.Hash()), err)
	}
	return nil
}

// admission holds what the rules of a policy decided about a run before the run began.
type admission struct {
	policy *policy.Policy
	says   *policy.Admission // the decision of the rules; nil when no rule matches
}

// admit evaluates the rules of the policy for a run that is about to begin. The engine
// calls it before the handler. If it returns an outcome, a rule holds the job: the job
// does not run until a person retries it. The admission is nil when the policy has no
// rules for the kind.
func (c *Client) admit(claim *job.Claim) (any, *job.Outcome) {
	p := c.Policy()
	if !p.HasRules(claim.Kind) {
		return nil, nil
	}
	a := &admission{p, c.evaluate(p, claim)}
	if a.says != nil && a.says.Would != nil && a.says.Would.Hold != nil {
		c.config.Logger.Info("rules of the policy would hold the job, but the policy is in observe mode, so the job runs", "job", claim.ID.String(), "rules", a.says.Rules)
	}
	o, held := decide.Held(a.says, claim, c.config.Name)
	if !held || claim.Released {
		return a, nil
	}
	o.Failure.Build, o.Notified = c.config.Build, p.Info(job.ClassManualReview).Notified
	return a, &o
}

// evaluate evaluates the rules of a policy for a claimed job. It returns nil when no
// rule matches.
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

// admissionOf returns the decision of the rules about a run: the decision that was made
// before the run began, or a new decision if the policy has been replaced since then.
func (c *Client) admissionOf(p *policy.Policy, claim *job.Claim, e *job.Ending) *policy.Admission {
	if a, ok := e.Admission.(*admission); ok && a.policy.Hash() == p.Hash() {
		return a.says
	}
	return c.evaluate(p, claim)
}

// route sets the terms of a job at its enqueue, and the queue and priority that the
// rules give to it.
func (c *Client) route(n *job.New) error {
	in := c.policies.Load()
	p := in.effective
	n.Terms = in.termsOf(n.Kind)
	n.Aside = n.Batch != 0 && p.NoRetry(n.Kind)
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

// logFailedRules logs the rules that could not be evaluated. Such a rule fails for every
// job, so the same line is logged at most once a minute, with the number of suppressed
// lines.
func (c *Client) logFailedRules(id string, p *policy.Policy, a *policy.Admission) {
	for _, problem := range a.Failed {
		if suppressed, ok := c.failedRules.allow(c.config.now(), p.Hash(), problem.String()); ok {
			c.config.Logger.Warn("a rule of the policy could not be evaluated and does not match",
				"job", id, "problem", problem.String(), "suppressed", suppressed)
		}
	}
}

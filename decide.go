package redrive

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/retry"
)

// decide returns the outcome of a run. It uses the policy that the client has when the run
// ends.
func (c *Client) decide(claim *job.Claim, e *job.Ending) job.Outcome {
	in := decide.Input{Claim: claim, Ending: e}
	if e.How != "" {
		in.Policy = c.Policy()
		in.Admission = c.admissionOf(in.Policy, claim, e)
		in.Settings = decide.Settings{
			KeepRaw: c.config.KeepRaw, HidePaths: c.config.HidePaths, HideAddresses: c.config.HideAddresses, HideEmails: c.config.HideEmails,
			Development: c.config.Development,
		}
	}
	o, err := decide.Outcome(&in)
	if err != nil {
		c.config.Logger.Warn("the job's own retry settings cannot be read; the policy alone decides about the failure", "job", claim.ID.String(), "error", err)
	}
	if o.Failure != nil {
		c.logUnknownClass(in.Policy, claim, failure.Class(o.Failure.Class))
	}
	return o
}

// logUnknownClass logs a class that the policy does not know, at most once a minute: the handler has named
// it with failure.WithClass, and often it is a misspelled name.
func (c *Client) logUnknownClass(p *policy.Policy, claim *job.Claim, class failure.Class) {
	if class == "" || p.Knows(class) {
		return
	}
	suppressed, ok := c.failedRules.allow(c.config.now(), p.Hash(), "class "+claim.Kind+" "+string(class))
	if !ok {
		return
	}
	var known []string
	for _, k := range p.Classes() {
		known = append(known, string(k))
	}
	c.config.Logger.Warn(fmt.Sprintf("a handler named a class that the policy does not know%s: its failures get the settings of the policy's default; "+
		"correct the name, or declare the class under \"classes\" in the policy", suggest.DidYouMean(string(class), known)),
		"class", string(class), "kind", claim.Kind, "job", claim.ID.String(), "suppressed", suppressed)
}

// outside returns a text without secrets, paths and addresses, for logs, events and users.
func (c *Client) outside(text string) string {
	return failure.Sanitize(text, &failure.SanitizeOptions{Emails: c.config.HideEmails})
}

// handlerOf returns the handler of a kind in the form that the engine calls. The
// handler is wrapped in its middleware, gets the admission of the run (what the rules
// of the policy decided before the run), and has a context with the limits for package
// retry.
func (c *Client) handlerOf(h *handler) (func(context.Context, *engine.Run) error, error) {
	run, err := c.wrapped(h)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r *engine.Run) error {
		var says *policy.Admission
		if a, ok := r.Admission().(*admission); ok {
			says = a.says
		}
		ctx, ledger := retry.WithJob(ctx, retry.JobInfo{
			ID: r.Claim.ID.String(), Correlation: r.Claim.Correlation, Deadline: r.Claim.Deadline.Time(), Logger: c.config.Logger,
			Resends: c.config.Resends,
		})
		r.CountSends(ledger.Sends)
		return run(ctx, r, says)
	}, nil
}

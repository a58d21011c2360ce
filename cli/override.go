package cli

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// overrideFlags are the flags for the retry settings of a single job.
type overrideFlags struct {
	MaxRetries      *int     `placeholder:"N" help:"Number of retries of a job, after the first attempt of a life."`
	MaxTotalRetries *int     `placeholder:"N" help:"Number of retries of a job over all classes."`
	MaxCost         *float64 `placeholder:"DOLLARS" help:"Largest cost of all runs of a life, in US dollars."`
	Waits           []span   `placeholder:"DURATION" help:"Waits before the retries of a job. The last wait repeats."`
}

// override returns the settings that the flags say.
func (c *overrideFlags) override() (policy.Override, error) {
	o := policy.Override{MaxRetries: c.MaxRetries, MaxTotalRetries: c.MaxTotalRetries, Waits: spans(c.Waits)}
	if c.MaxCost != nil {
		if *c.MaxCost < 0 || *c.MaxCost > job.CostMax/1e6 {
			return o, usagef("--max-cost %g: must be 0 to %d dollars", *c.MaxCost, int64(job.CostMax/1e6))
		}
		microusd := int64(*c.MaxCost*1e6 + 0.5)
		o.MaxCost = &microusd
	}
	if err := o.Validate(); err != nil {
		return o, &usageError{err}
	}
	return o, nil
}

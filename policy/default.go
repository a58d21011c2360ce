package policy

import (
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// DefaultSpec returns the built-in default policy. It also decides everything that another
// policy does not set.
func DefaultSpec() Spec {
	return Spec{
		Name:   "default",
		Limits: Limits{}.withDefaults(),
		Default: retries(3, backoff.Backoff{
			Waits: []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute},
		}),
		Classes: map[failure.Class]ClassSpec{
			failure.NetworkTimeout:        {Settings: retries(3, growing(30*time.Second, 2))},
			failure.RateLimitExceeded:     {Settings: retries(5, growing(60*time.Second, 3))},
			failure.TemporaryServiceError: {Settings: retries(3, growing(30*time.Second, 2))},
			failure.ResourceConstraint:    {Settings: retries(2, growing(30*time.Second, 1.5))},
			failure.UnknownError:          {Settings: retries(2, growing(30*time.Second, 2))},
			failure.ProgramError:          {Settings: retries(2, growing(30*time.Second, 2))},
			failure.AttemptTimeout:        {Settings: retries(1, growing(30*time.Second, 2))},
			failure.Panic:                 {Settings: retries(2, growing(30*time.Second, 2))},
		},
	}
}

func growing(first time.Duration, factor float64) backoff.Backoff {
	return backoff.Backoff{Formula: backoff.Exponential, First: first, Factor: factor}
}

// retries returns settings with the jitter of ±20 % that all built-in settings have.
func retries(n int, b backoff.Backoff) Settings {
	b.Jitter, b.Percent = backoff.Percent, 0.2
	return Settings{MaxRetries: &n, Backoff: &b}
}

package cli

import (
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/cron"
)

// retention returns for how long finished jobs and other records are kept, according to the
// configuration.
func retention(c *config.Config) redrive.Retention {
	r := c.Retention
	return redrive.Retention{
		Completed: r.Completed, Failures: r.Failures, Dead: r.Dead, DropPending: r.DropPending, Events: r.Events, Batches: r.Batches,
	}
}

// schedules returns the periodic jobs of the configuration.
func schedules(c *config.Config) ([]redrive.Cron, error) {
	var all []redrive.Cron
	for _, name := range c.CronNames {
		s := c.Cron[name]
		zone, err := cron.Zone(s.Timezone)
		if err != nil {
			return nil, fmt.Errorf("cron.%s.timezone: %w", name, err)
		}
		all = append(all, redrive.Cron{
			Name: name, Expression: s.Expression, Location: zone, Catch: s.Catch,
			Spec: redrive.NewRaw(s.Kind, s.Payload, &redrive.Options{
				Queue: s.Queue, Priority: s.Priority, Owner: s.Owner, Correlation: s.Correlation, Attrs: s.Attrs,
			}),
		})
	}
	return all, nil
}

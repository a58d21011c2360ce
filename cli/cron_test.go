package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
)

// part of: Q13
func TestQ13_SchedulesOfTheConfigurationAndTheStore(t *testing.T) {
	t.Parallel()
	c := &config.Config{
		CronNames: []string{"nightly", "new"},
		Cron: map[string]config.Cron{
			"nightly": {Expression: "0 3 * * *", Timezone: "Europe/Berlin", Kind: "report", Queue: "q"},
			"new":     {Expression: "@every 90s", Timezone: "UTC", Kind: "tick", Queue: "q"},
		},
	}
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	got, err := viewCron(c, []redrive.CronSlot{{Name: "gone", Slot: 5, At: 6, Job: 7}, {Name: "nightly", Slot: 1, At: 2, Job: 3}}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := []wire.Cron{
		{Name: "nightly", Configured: true, Kind: "report", Queue: "q", Expression: "0 3 * * *", Words: "at 03:00 every day",
			Zone: "Europe/Berlin", Next: job.At(time.Date(2026, 6, 2, 1, 0, 0, 0, time.UTC)), LastSlot: 1, FiredAt: 2, LastJob: 3},
		{Name: "new", Configured: true, Kind: "tick", Queue: "q", Expression: "@every 90s", Words: "every 90s", Zone: "UTC",
			Next: job.At(time.Date(2026, 6, 1, 12, 1, 30, 0, time.UTC))},
		{Name: "gone", LastSlot: 5, FiredAt: 6, LastJob: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

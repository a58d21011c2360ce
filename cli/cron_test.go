package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestCronWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"* * * * *":      "every minute",
		"*/15 * * * *":   "every 15 minutes",
		"0 3 * * *":      "at 03:00 every day",
		"@daily":         "at 00:00 every day",
		"@hourly":        "at :00 of every hour",
		"@every 1h30m":   "every 1h30m",
		"30 2,14 * * 0":  "at 02:30, 14:30 on Sunday",
		"0 9 * * 1-5":    "at 09:00 on Monday to Friday",
		"0 9 * * mon,7":  "at 09:00 on Monday, Sunday",
		"0 0 1 1,7 *":    "at 00:00 on day 1 of the month in January, July",
		"0 0 1 * MON":    "at 00:00 on day 1 of the month or on Monday",
		"5 */2 * * *":    "at :05 of every hour that 2 divides",
		"*/5 9-17 * * *": "every 5 minutes of the hours 9-17",
		"1-5 3 * * *":    "at the minutes 1-5 of the hours 3",
		"nonsense":       "nonsense",
	} {
		if got := cronWords(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func FuzzCronWords(f *testing.F) {
	f.Add("*/5 1,2 3-4 JAN ?")
	f.Fuzz(func(_ *testing.T, text string) { cronWords(text) })
}

// part of: Q13
func TestQ13_SchedulesOfTheConfigurationAndTheStore(t *testing.T) {
	t.Parallel()
	c := &config.Config{
		CronNames: []string{"nightly", "new"},
		Cron: map[string]config.Cron{
			"nightly": {Schedule: "0 3 * * *", Timezone: "Europe/Berlin", Kind: "report", Queue: "q"},
			"new":     {Schedule: "@every 90s", Timezone: "UTC", Kind: "tick", Queue: "q"},
		},
	}
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	got, err := viewCron(c, []store.Schedule{{Name: "gone", Slot: 5, At: 6, Job: 7}, {Name: "nightly", Slot: 1, At: 2, Job: 3}}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := []cronView{
		{Name: "nightly", Configured: true, Kind: "report", Queue: "q", Schedule: "0 3 * * *", Words: "at 03:00 every day",
			Zone: "Europe/Berlin", Next: job.At(time.Date(2026, 6, 2, 1, 0, 0, 0, time.UTC)), LastSlot: 1, FiredAt: 2, LastJob: 3},
		{Name: "new", Configured: true, Kind: "tick", Queue: "q", Schedule: "@every 90s", Words: "every 90s", Zone: "UTC",
			Next: job.At(time.Date(2026, 6, 1, 12, 1, 30, 0, time.UTC))},
		{Name: "gone", LastSlot: 5, FiredAt: 6, LastJob: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

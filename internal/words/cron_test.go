package words_test

import (
	"testing"

	"github.com/redrive/redrive/internal/words"
)

func TestCron(t *testing.T) {
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
		if got := words.Cron(in); got != want {
			t.Errorf("cron expression %s: got the text %q, want %q", in, got, want)
		}
	}
}

func FuzzCron(f *testing.F) {
	f.Add("*/5 1,2 3-4 JAN ?")
	f.Fuzz(func(_ *testing.T, text string) { words.Cron(text) })
}

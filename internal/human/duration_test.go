package human_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/internal/human"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                              "0s",
		10 * time.Second:               "10s",
		1500 * time.Millisecond:        "1.5s",
		5 * time.Minute:                "5m",
		10 * time.Minute:               "10m",
		90 * time.Second:               "1m30s",
		2 * time.Hour:                  "2h",
		20 * time.Hour:                 "20h",
		time.Hour + 30*time.Minute:     "1h30m",
		time.Hour + 10*time.Second:     "1h0m10s",
		-(2*time.Hour + 5*time.Minute): "-2h5m",
	} {
		if got := human.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

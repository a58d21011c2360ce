package yamlfile

import (
	"strconv"
	"time"

	"github.com/redrive/redrive/internal/human"
)

// Day is the length of the unit d.
const Day = 24 * time.Hour

// Span formats a duration so that human.ParseDuration can read it: 7d, 36h, 1h30m.
func Span(d time.Duration) string {
	if d > Day && d%Day == 0 {
		return strconv.FormatInt(int64(d/Day), 10) + "d"
	}
	return human.Duration(d)
}

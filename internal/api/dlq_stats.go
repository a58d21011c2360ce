package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
)

// statsWindow is the time that the figures about retries cover if the request does not name one.
const statsWindow = 24 * time.Hour

// deadStats answers with the numbers of dead letters, and with figures about the success of
// retries.
func (a *API) deadStats(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	window := statsWindow
	if text := q.text("window"); text != "" {
		d, err := human.ParseDuration(text)
		if err != nil || d < time.Hour || d > redrive.HoursKept {
			q.add("window", fmt.Sprintf("%.40q: must be a duration from 1h to %dh", text, int(redrive.HoursKept.Hours())), nil)
		}
		window = d
	}
	if err := q.problem(); err != nil {
		return err
	}
	stats, err := a.client.DeadStats(c.Context())
	if err != nil {
		return fmt.Errorf("count dead letters: %w", err)
	}
	return c.JSON(http.StatusOK, wire.StatsOf(&stats, window))
}

package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/job"
)

// ScheduleList is a list of schedules.
type ScheduleList struct {
	Items []redrive.CronStatus `json:"items"`
}

// ScheduleTimes are the next times of a schedule or an expression.
type ScheduleTimes struct {
	Items []job.Micros `json:"items"`
}

func (a *API) listSchedules(c *Call) error {
	list, err := a.client.Crons(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ScheduleList{append([]redrive.CronStatus{}, list...)})
}

// Schedule returns the schedule of a name, or a NotFound.
func (a *API) Schedule(c *Call, name string) (redrive.CronStatus, error) {
	list, err := a.client.Crons(c.Context())
	if err != nil {
		return redrive.CronStatus{}, err
	}
	i := slices.IndexFunc(list, func(s redrive.CronStatus) bool { return s.Name == name })
	if i < 0 {
		return redrive.CronStatus{}, noSchedule(name)
	}
	return list[i], nil
}

// pauseSchedule returns the handler that pauses or resumes a schedule.
func pauseSchedule(paused bool) func(*API, *Call) error {
	return func(a *API, c *Call) error {
		note, err := c.reason()
		if err != nil {
			return err
		}
		name := c.R.PathValue("name")
		if _, err := a.Schedule(c, name); err != nil {
			return err
		}
		if paused {
			_, err = a.client.PauseCron(c.Context(), c.By(note), name)
		} else {
			_, err = a.client.ResumeCron(c.Context(), c.By(note), name)
		}
		if err != nil && ProblemOf(err).kind != NotFound { // a schedule that the store does not have was never paused
			return err
		}
		now, err := a.Schedule(c, name)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, now)
	}
}

// runSchedule enqueues the job of a schedule at once.
func (a *API) runSchedule(c *Call) error {
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	note, err := c.reason()
	if err != nil {
		return err
	}
	if key != "" { // the scope of the caller makes this key different from an equal key of another caller
		key = c.scope() + "\x00" + key
	}
	name := c.R.PathValue("name")
	receipt, err := a.client.RunCron(c.Context(), c.By(note), name, key)
	switch {
	case errors.Is(err, redrive.ErrNotFound):
		return noSchedule(name)
	case err != nil:
		return enqueueProblem(err, false)
	}
	return c.receipt(a, &receipt, key != "")
}

// ScheduleTimesMax is the maximum number of times in an answer, and scheduleTimesDefault the number
// if the request names none.
const (
	ScheduleTimesMax     = 100
	scheduleTimesDefault = 5
)

// nextParams returns the parameters of the routes that list times.
func nextParams() []Param {
	return []Param{
		{Name: "n", In: "query", Doc: "How many times; default 5.", Type: "integer", Min: 1, Max: ScheduleTimesMax},
		{Name: "after", In: "query", Doc: "Only times after this one; default now."},
	}
}

// next reads the parameters of the routes that list times.
func (a *API) next(q *queryReader) (after time.Time, n int) {
	after = q.now
	if at := q.time("after"); at != 0 {
		after = at.Time()
	}
	return after, int(q.number("n", 1, ScheduleTimesMax, scheduleTimesDefault))
}

// nextOfSchedule answers with the next times of a schedule.
func (a *API) nextOfSchedule(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	after, n := a.next(q)
	if err := q.problem(); err != nil {
		return err
	}
	name := c.R.PathValue("name")
	list, err := a.client.CronTimes(name, after, n)
	if errors.Is(err, redrive.ErrNotFound) {
		return noSchedule(name)
	}
	return c.times(list, err)
}

// nextOfExpression answers with the next times of an expression that need not belong to a schedule.
func (a *API) nextOfExpression(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	after, n := a.next(q)
	zone, err := cron.Zone(cmp.Or(q.text("timezone"), "UTC"))
	if err != nil {
		q.add("timezone", err.Error(), nil)
	}
	expression := q.text("expression")
	if _, err := cron.Parse(expression, zone); err != nil {
		q.add("expression", err.Error(), nil)
	}
	if err := q.problem(); err != nil {
		return err
	}
	return c.times(redrive.NextSlots(expression, zone, after, n))
}

func noSchedule(name string) *Problem {
	return NotFound.New("schedule %.100q: there is no such schedule", name)
}

// times answers with a list of times.
func (c *Call) times(list []time.Time, err error) error {
	if err != nil {
		return err
	}
	out := ScheduleTimes{Items: []job.Micros{}}
	for _, at := range list {
		out.Items = append(out.Items, job.At(at))
	}
	return c.JSON(http.StatusOK, out)
}

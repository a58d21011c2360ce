package page

import (
	"net/http"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// schedulesView lists the schedules of periodic jobs.
type schedulesView struct {
	frame
	Rows []scheduleRow
}

// scheduleRow is a schedule with its next slots and the job of its last one.
type scheduleRow struct {
	redrive.CronStatus
	When          string       // the expression in words
	Next          []job.Micros // the next slots; none while it is paused
	Slot, SetAt   job.Micros   // the last slot, and when a person has paused or resumed it
	State         string       // of the job of the last slot; "" if it is not kept
	Do, Label     string       // what its button does
	Known, Paused bool         // this server has the schedule
}

// nextSlots is how many slots a row shows.
const nextSlots = 3

func (p *Pages) schedules(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "schedules", "Schedules")
	if err != nil {
		return err
	}
	list, err := a.Client().Crons(c.Context())
	if err != nil {
		return err
	}
	v := schedulesView{frame: f}
	v.Topics = "all"
	var ids []job.ID
	var paused int64
	for i := range list {
		r := scheduleRowOf(&list[i], f.Now)
		if r.Paused {
			paused++
		}
		if r.Job != 0 {
			ids = append(ids, r.Job)
		}
		v.Rows = append(v.Rows, r)
	}
	jobs, err := a.Client().GetAll(c.Context(), ids[:min(len(ids), job.PageMax)])
	if err != nil {
		return err
	}
	for i := range v.Rows {
		if k := slices.IndexFunc(jobs, func(j job.Job) bool { return j.ID == v.Rows[i].Job }); k >= 0 {
			v.Rows[i].State = jobs[k].State.String()
		}
	}
	v.Heading = words.SchedulesFinding(int64(len(list)), paused)
	v.Lead = "A schedule enqueues a job at each of its times. A paused one enqueues none, and does not make up for them later."
	return p.write(c.W, http.StatusOK, "schedules", &v)
}

func scheduleRowOf(s *redrive.CronStatus, now job.Micros) scheduleRow {
	r := scheduleRow{CronStatus: *s, Known: s.Expression != "", Paused: s.Paused, Do: "pause", Label: "Pause"}
	if !s.Last.IsZero() {
		r.Slot = job.At(s.Last)
	}
	if !s.SetAt.IsZero() {
		r.SetAt = job.At(s.SetAt)
	}
	if s.Paused {
		r.Do, r.Label = "resume", "Resume"
	}
	if !r.Known {
		return r
	}
	r.When = words.Cron(s.Expression)
	zone, err := cron.Zone(s.Zone)
	if err != nil || s.Paused {
		return r
	}
	slots, _ := redrive.NextSlots(s.Expression, zone, now.Time(), nextSlots) // no error check: without slots the row shows none
	for _, at := range slots {
		r.Next = append(r.Next, job.At(at))
	}
	return r
}

// actOnSchedule pauses or resumes a schedule, or enqueues its job at once.
func (p *Pages) actOnSchedule(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	name, do := c.R.PathValue("name"), c.R.PathValue("act")
	if do != "pause" && do != "resume" && do != "run" {
		return api.NotFound.New("A schedule cannot %.40q.", do)
	}
	if _, err := a.Schedule(c, name); err != nil {
		return err
	}
	if err := api.CheckReason(in.Get("reason")); err != nil {
		return err
	}
	return p.once(a, c, in, "/ui/schedules", func() (done, error) {
		by := c.By(in.Get("reason"))
		switch do {
		case "pause":
			_, err := a.Client().PauseCron(c.Context(), by, name)
			return done{Text: "Schedule " + words.Clean(name) + " is paused. It enqueues nothing until it is resumed."}, err
		case "resume":
			_, err := a.Client().ResumeCron(c.Context(), by, name)
			return done{Text: "Schedule " + words.Clean(name) + " goes on with its next time."}, err
		}
		r, err := a.Client().RunCron(c.Context(), by, name, in.Get("nonce"))
		d := done{Text: "Schedule " + words.Clean(name) + " has enqueued job " + r.ID.String() + " now. Its times stay as they are.", Link: "/ui/jobs/" + r.ID.String(), Of: "See job " + r.ID.String()}
		if r.Existing {
			d.Text = "Job " + r.ID.String() + " of schedule " + words.Clean(name) + " exists already."
		}
		return d, err
	})
}

// slotTime writes the time of a slot in the zone of its schedule.
func slotTime(at job.Micros, zone string) string {
	where, err := cron.Zone(zone)
	if err != nil {
		where = time.UTC
	}
	return at.Time().In(where).Format("Mon 2 Jan, 15:04:05")
}

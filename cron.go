package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// CronCatchMin is the least that Cron.Catch may be.
const CronCatchMin = time.Second

// Cron enqueues a job periodically. Any number of clients may have the same one:
// each slot of it is fired once on a store, by whoever is first.
//
// A schedule of five fields names times on the clocks of its zone. When they are put
// forward, what they leave out is due at that moment; when they are put back, what
// they show twice is due at the first; a schedule for every hour goes on with real
// time in both nights.
//
// Of the slots that passed while no client ran, or while the store did not answer,
// the latest is fired, and no other. A schedule that has never fired on a store
// begins with the first slot after the client was made.
type Cron struct {
	// Name is what the store knows the schedule by, at most job.NameMax letters,
	// digits and _-.:/. Another name is another schedule. A store keeps the names
	// for ever, store.CronsMax of them; one that no client has any more may be
	// taken for another schedule.
	Name string
	// Schedule is five fields (minute, hour, day of the month, month, day of the
	// week), one of @hourly, @daily, @weekly, @monthly and @yearly, or "@every 90s":
	// the whole multiples of a span since 1970.
	Schedule string
	// Location is the zone whose clocks count; default UTC. time.Local is refused,
	// because clients on two machines have to mean the same.
	Location *time.Location
	// Catch is how late a slot may be fired that nobody could fire in time, from
	// CronCatchMin on; default until the next slot. It holds for a schedule that has
	// never fired, too: a program that runs only now and then has to set it.
	Catch time.Duration
	// Spec is the job. Its correlation is "cron:" and the name, unless it has one.
	Spec Spec
	// Make makes the job of a slot, in place of Spec. It is called again when the
	// store has not taken it.
	Make func(slot time.Time) Spec
}

// crons are the schedules of a client.
type crons struct {
	list  []Cron
	kept  []keeper.Cron
	since time.Time
}

// newCrons reads the schedules, or returns every mistake.
func (c *Client) newCrons() (crons, error) {
	all := crons{list: slices.Clone(c.config.Cron), since: c.config.now()}
	var errs []error
	if n := len(all.list); n > store.CronsMax {
		return all, fmt.Errorf("Config.Cron: %d schedules: at most %d, which is what a store keeps", n, store.CronsMax)
	}
	seen := map[string]bool{}
	for i := range all.list {
		s := &all.list[i]
		k, err := c.newCron(s)
		if err == nil && seen[s.Name] {
			err = errors.New("the name is taken by another schedule")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("Config.Cron: schedule %q: %w", s.Name, err))
		}
		seen[s.Name] = true
		all.kept = append(all.kept, k)
	}
	return all, errors.Join(errs...)
}

func (c *Client) newCron(s *Cron) (keeper.Cron, error) {
	k := keeper.Cron{Name: s.Name, Catch: s.Catch}
	if err := store.ValidName("schedule", s.Name); err != nil {
		return k, err
	}
	if s.Location == time.Local {
		return k, errors.New("a Location of time.Local is not the same everywhere; load a zone by its name")
	}
	var err error
	if k.Schedule, err = cron.Parse(s.Schedule, s.Location); err != nil {
		return k, err
	}
	switch given := s.Spec.new.Kind != "" || s.Spec.err != nil; {
	case s.Catch != 0 && s.Catch < CronCatchMin:
		return k, fmt.Errorf("a Catch of %s: must be at least %s, or 0 for until the next slot", s.Catch, CronCatchMin)
	case given == (s.Make != nil):
		return k, errors.New("either Spec or Make is required")
	case given:
		var jobs []job.New
		if jobs, err = c.cronJobs(s, time.Time{}); err == nil {
			jobs[0].ID = 1
			err = store.Validate(&jobs[0])
		}
	}
	return k, err
}

// cronJobs returns the jobs of a slot as the store takes them, without ids.
func (c *Client) cronJobs(s *Cron, slot time.Time) ([]job.New, error) {
	spec := s.Spec
	if s.Make != nil {
		spec = s.Make(slot)
	}
	if spec.new.Correlation == "" {
		spec.new.Correlation = "cron:" + s.Name
	}
	return c.check([]Spec{spec})
}

// fire enqueues the job of a slot, unless somebody has.
func (c *Client) fire(ctx context.Context, i int, slot time.Time) (f store.Fired, err error) {
	s := &c.crons.list[i]
	defer func() {
		if p := recover(); p != nil { // a mistake in Make must not end the process
			err = fmt.Errorf("schedule %q: panic: %v", s.Name, p)
		}
	}()
	jobs, err := c.cronJobs(s, slot)
	if err != nil {
		return f, err
	}
	first, err := c.ids.take(ctx, len(jobs))
	if err != nil {
		return f, err
	}
	number(jobs, first)
	f, err = c.store.Fire(ctx, s.Name, job.At(slot), jobs)
	c.ids.lost(err)
	if errors.Is(err, store.ErrTooLarge) {
		err = c.withoutRoom(ctx, s.Name, err)
	}
	return f, err
}

// withoutRoom adds the cure to an error that says that the store has no room for
// another name.
func (c *Client) withoutRoom(ctx context.Context, name string, err error) error {
	known, failed := c.store.Schedules(ctx)
	if failed != nil || len(known) < store.CronsMax || slices.ContainsFunc(known, func(s store.Schedule) bool { return s.Name == name }) {
		return err // it is another bound
	}
	return fmt.Errorf("%w; names are kept for ever: give the schedule one that no client has any more (redrive cron lists them)", err)
}

// Schedule is a periodic schedule as it stands.
type Schedule struct {
	Name     string    `json:"name"`
	Schedule string    `json:"schedule,omitempty"` // "" when this client does not have it
	Zone     string    `json:"zone,omitempty"`
	Kind     string    `json:"kind,omitempty"` // "" when Make makes the job
	Next     time.Time `json:"next,omitzero"`  // the next slot by the client's clock
	Last     time.Time `json:"last,omitzero"`  // the last slot that was fired, by any client
	FiredAt  time.Time `json:"fired_at,omitzero"`
	Job      JobID     `json:"job,omitempty"` // what that slot has enqueued
}

// Schedules returns the schedules of this client and those that have fired on its
// store, by name.
func (c *Client) Schedules(ctx context.Context) ([]Schedule, error) {
	fired, err := c.store.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	var all []Schedule
	now := c.config.now()
	for i, s := range c.crons.list {
		k := &c.crons.kept[i]
		all = append(all, Schedule{
			Name: s.Name, Schedule: s.Schedule, Zone: k.Schedule.Location().String(), Kind: s.Spec.new.Kind,
			Next: k.Schedule.Next(now),
		})
	}
	for _, f := range fired {
		i := slices.IndexFunc(all, func(s Schedule) bool { return s.Name == f.Name })
		if i < 0 {
			i = len(all)
			all = append(all, Schedule{Name: f.Name})
		}
		all[i].Last, all[i].FiredAt, all[i].Job = f.Slot.Time(), f.At.Time(), f.Job
	}
	slices.SortFunc(all, func(a, b Schedule) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

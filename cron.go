package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// CronCatchMin is the lowest value of Cron.Catch.
const CronCatchMin = time.Second

// CronLimit is the time limit for one slot, for Cron.Make, the enqueue middlewares and the
// store together. At the limit their context ends, and the slot is tried again. Code that
// ignores its context is called again for the entry only after it has returned.
const CronLimit = 10 * time.Second

// Cron enqueues a job periodically, at the slots that its expression names. Several
// clients may have the same entry: on one store each slot is fired once, by the first
// client that gets to it.
//
// An expression of five fields names times on the clocks of its zone. When the clocks
// are put forward, slots in the skipped hour are due at that moment. When they are put
// back, slots in the repeated hour are due the first time. An expression for every hour
// follows real time in both nights.
//
// If slots passed while no client ran, or while the store did not answer, only the
// latest of them is fired. An entry that has never fired on a store begins with the
// first slot after the client was made or SetCron was called.
type Cron struct {
	// Name identifies the entry in the store: at most job.NameMax letters, digits and
	// _-.:/. A changed name makes a new entry. A store keeps the names for ever, at
	// most store.CronsMax of them; a name that no client uses any more may be given to
	// another entry.
	Name string
	// Expression is five fields (minute, hour, day of the month, month, day of the
	// week), one of @hourly, @daily, @weekly, @monthly and @yearly, or an interval such
	// as "@every 90s", whose slots are the whole multiples of it since 1970.
	Expression string
	// Location is the time zone of the expression; default UTC. time.Local is refused,
	// because it differs between machines.
	Location *time.Location
	// Catch is how late a missed slot may still be fired, at least CronCatchMin; by
	// default until the next slot. It also applies to an entry that has never fired: a
	// program that runs only now and then must set it.
	Catch time.Duration
	// Spec is the job to enqueue. Its correlation is "cron:" and the name, unless the
	// Spec sets one.
	Spec Spec
	// Make makes the job of a slot; use it instead of Spec. It is called again when the
	// store has not taken the job. It must return within CronLimit.
	Make func(slot time.Time) Spec
}

// crons are the cron entries of a client. The client's lock guards them.
type crons struct {
	list []Cron
	kept []keeper.Cron // the same entries in the keeper's form
}

// newCrons reads the entries of the configuration. The error has all mistakes.
func (c *Client) newCrons() (crons, error) {
	var all crons
	var errs []error
	for _, entry := range c.config.Cron {
		k, err := c.newCron(&entry)
		if err == nil && all.find(entry.Name) >= 0 {
			err = errors.New("the name is taken by another entry")
		}
		if err == nil {
			err = all.set(entry, k)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("Config.Cron: entry %q: %w", entry.Name, err))
		}
	}
	return all, errors.Join(errs...)
}

// find returns the index of an entry by its name, or -1.
func (c *crons) find(name string) int {
	return slices.IndexFunc(c.list, func(entry Cron) bool { return entry.Name == name })
}

// set adds an entry, or replaces the entry with the same name.
func (c *crons) set(entry Cron, k keeper.Cron) error {
	if i := c.find(entry.Name); i >= 0 {
		c.list[i], c.kept[i] = entry, k
		return nil
	}
	if len(c.list) >= store.CronsMax {
		return fmt.Errorf("the client has %d entries already, which is as many as a store keeps: remove one first: %w", len(c.list), store.ErrTooLarge)
	}
	c.list, c.kept = append(c.list, entry), append(c.kept, k)
	return nil
}

// SetCron adds a cron entry, or replaces the entry with the same name; see Config.Cron.
// While Run is running the entry fires from its next slot on, else from the next Run
// on. Only this client has the entry: it is not kept in the store, and other clients
// keep theirs. A slot that is just being fired still uses the old entry.
func (c *Client) SetCron(entry Cron) error {
	k, err := c.newCron(&entry)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		err = c.crons.set(entry, k)
	}
	if err != nil {
		return fmt.Errorf("redrive: cron entry %q: %w", entry.Name, err)
	}
	c.keepCrons()
	return nil
}

// RemoveCron removes a cron entry from this client and reports whether it existed. A
// slot that is just being fired is still enqueued. Jobs that were enqueued stay, and
// the store keeps the last slot: when the entry is set again it continues from there.
func (c *Client) RemoveCron(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.crons.find(name)
	if i < 0 {
		return false
	}
	c.crons.list, c.crons.kept = slices.Delete(c.crons.list, i, i+1), slices.Delete(c.crons.kept, i, i+1)
	c.keepCrons()
	return true
}

// keepCrons hands the entries to the keeper, if it runs. The caller holds the client's
// lock.
func (c *Client) keepCrons() {
	if c.keeper != nil {
		c.keeper.SetCrons(slices.Clone(c.crons.kept))
	}
}

// newCron checks an entry and returns it in the keeper's form.
func (c *Client) newCron(s *Cron) (keeper.Cron, error) {
	entry := *s
	k := keeper.Cron{Name: s.Name, Catch: s.Catch, Since: c.config.now()}
	var busy atomic.Bool
	k.Fire = func(ctx context.Context, slot time.Time) (store.Fired, error) {
		return c.fireWithin(ctx, CronLimit, &busy, &entry, slot)
	}
	if err := store.ValidName("name", s.Name); err != nil {
		return k, err
	}
	if s.Location == time.Local {
		return k, errors.New("a Location of time.Local is not the same everywhere; load a zone by its name")
	}
	var err error
	if k.Expression, err = cron.Parse(s.Expression, s.Location); err != nil {
		return k, err
	}
	switch given := s.Spec.new.Kind != "" || s.Spec.err != nil; {
	case s.Catch != 0 && s.Catch < CronCatchMin:
		return k, fmt.Errorf("a Catch of %s: must be at least %s, or 0 for until the next slot", s.Catch, CronCatchMin)
	case given == (s.Make != nil):
		return k, errors.New("either Spec or Make is required")
	case given:
		var jobs []job.New
		if jobs, err = c.check([]Spec{cronSpec(s, time.Time{})}); err == nil {
			jobs[0].ID = 1
			err = store.Validate(&jobs[0])
		}
	}
	return k, err
}

// cronSpec returns the job of a slot.
func cronSpec(s *Cron, slot time.Time) Spec {
	spec := s.Spec
	if s.Make != nil {
		spec = s.Make(slot)
	}
	if spec.new.Correlation == "" {
		spec.new.Correlation = "cron:" + s.Name
	}
	return spec
}

// CronStatus is the state of a cron entry.
type CronStatus struct {
	Name       string    `json:"name"`
	Expression string    `json:"schedule,omitempty"` // "" when this client does not have it
	Zone       string    `json:"zone,omitempty"`
	Kind       string    `json:"kind,omitempty"` // "" when Make makes the job
	Next       time.Time `json:"next,omitzero"`  // the next slot on the client's clock
	Last       time.Time `json:"last,omitzero"`  // the last slot that was fired, by any client
	FiredAt    time.Time `json:"fired_at,omitzero"`
	Job        JobID     `json:"job,omitempty"` // the job that this slot has enqueued
}

// Crons returns the cron entries of this client and those that have fired on its
// store, by name.
func (c *Client) Crons(ctx context.Context) ([]CronStatus, error) {
	fired, err := c.store.CronSlots(ctx)
	if err != nil {
		return nil, err
	}
	var all []CronStatus
	now := c.config.now()
	c.mu.Lock()
	list, kept := slices.Clone(c.crons.list), slices.Clone(c.crons.kept)
	c.mu.Unlock()
	for i, s := range list {
		k := &kept[i]
		all = append(all, CronStatus{
			Name: s.Name, Expression: s.Expression, Zone: k.Expression.Location().String(), Kind: s.Spec.new.Kind,
			Next: k.Expression.Next(now),
		})
	}
	for _, f := range fired {
		i := slices.IndexFunc(all, func(s CronStatus) bool { return s.Name == f.Name })
		if i < 0 {
			i = len(all)
			all = append(all, CronStatus{Name: f.Name})
		}
		all[i].Last, all[i].FiredAt, all[i].Job = f.Slot.Time(), f.At.Time(), f.Job
	}
	slices.SortFunc(all, func(a, b CronStatus) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// CronSlots returns the last fired slot of each cron entry that any client has ever
// fired on the store, by name.
func (c *Client) CronSlots(ctx context.Context) ([]CronSlot, error) { return c.store.CronSlots(ctx) }

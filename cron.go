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

// CronCatchMin is the minimum of Cron.Catch.
const CronCatchMin = time.Second

// CronLimit is the time limit for enqueueing the job of one slot. It covers Cron.Make, the
// enqueue middlewares and the store. At the limit their context ends, and the slot is
// tried again. If a call ignores the end of its context, the entry is not tried again
// before that call has returned.
const CronLimit = 10 * time.Second

// Cron is an entry that enqueues a job periodically. The times of these enqueues are
// its slots; the expression defines them. Several clients of one store may have the
// same entry: each slot is fired once, by the first client that comes to it.
//
// An expression of five fields names local times in the time zone of the entry. When
// the clocks go forward, slots in the skipped hour are due at the moment of the change.
// When the clocks go back, slots in the repeated hour are due at the first occurrence
// only. An expression for every hour is due every hour of real time on both days.
//
// If slots passed while no client ran, or while the store did not answer, only the
// latest of them is fired. An entry that has never fired on a store begins with the
// first slot after the client was made or SetCron was called.
//
// A person can pause an entry (Client.PauseCron). A paused entry is not fired by any client,
// and slots that pass during the pause are not fired later: the entry continues with the
// first slot after ResumeCron. Cron.Make may be called for the first slot of a pause; its job
// is not enqueued.
//
// If Expression or Location changes, the entry begins with the first slot after the
// change: slots of the past are not fired because a new expression defines them. The store
// keeps the expression of the last fired slot, so a change is also recognised when a
// program starts with another configuration; then the entry begins like one that has never
// fired. An expression that is only written in another way does not count as a change,
// such as "0 * * * *" instead of @hourly.
type Cron struct {
	// Name identifies the entry in the store: at most job.NameMax letters, digits and
	// _-.:/. If the name changes, the store treats the entry as a new one. A store
	// keeps at most store.CronsMax names and never removes one. A name that no client
	// uses any more can be used for another entry.
	Name string
	// Expression has one of three forms: five fields (minute, hour, day of the month,
	// month, day of the week); one of @hourly, @daily, @weekly, @monthly and @yearly;
	// or an interval such as "@every 90s". The slots of an interval are its whole
	// multiples since 1970.
	Expression string
	// Location is the time zone of the expression; default UTC. time.Local is refused,
	// because it differs between machines.
	Location *time.Location
	// Catch is the longest time after a missed slot at which the slot is still fired,
	// at least CronCatchMin. By default a missed slot is fired until the next slot is
	// due. If Catch is set, it also applies to the first slot of an entry that has
	// never fired, or whose expression was changed while the program did not run; so set
	// it in a program that runs only from time to time.
	Catch time.Duration
	// Spec is the job to enqueue. If the Spec sets no correlation id, the job gets
	// "cron:" and the entry's name.
	Spec Spec
	// Make returns the job of a slot. Set either Make or Spec. Make is called again if
	// the enqueue of the job failed. It must return within CronLimit.
	Make func(slot time.Time) Spec
}

// crons are the cron entries of a client. The client's lock guards them.
type crons struct {
	list []Cron
	kept []keeper.Cron // the same entries as keeper.Cron values
}

// newCrons reads the entries of the configuration. The error lists all mistakes.
func (c *Client) newCrons() (crons, error) {
	var all crons
	var errs []error
	for _, entry := range c.config.Cron {
		k, err := c.newCron(&entry)
		if err == nil && all.find(entry.Name) >= 0 {
			err = invalid(errors.New("this name is already used by another cron entry"))
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

// find returns the index of the entry with a name, or -1.
func (c *crons) find(name string) int {
	return slices.IndexFunc(c.list, func(entry Cron) bool { return entry.Name == name })
}

// set adds an entry, or replaces the entry with the same name. If the new entry has another
// expression or time zone than the replaced entry, set writes the time of the change to
// k.Changed.
func (c *crons) set(entry Cron, k keeper.Cron) error {
	if i := c.find(entry.Name); i >= 0 {
		if k.Changed = c.kept[i].Changed; k.Expression.Identity() != c.kept[i].Expression.Identity() {
			k.Changed = k.Since
		}
		c.list[i], c.kept[i] = entry, k
		return nil
	}
	if len(c.list) >= store.CronsMax {
		return fmt.Errorf("this client already has %d cron entries, which is the maximum of a store: remove one first: %w", len(c.list), store.ErrTooLarge)
	}
	c.list, c.kept = append(c.list, entry), append(c.kept, k)
	return nil
}

// SetCron adds a cron entry, or replaces the entry with the same name; see Config.Cron. If Run
// is running, the entry fires from its next slot on; otherwise it fires when Run is called
// next. If the new entry has another expression or time zone than the replaced entry, slots
// before the call are never fired, not even within Catch. The entry belongs to this client
// only: it is not stored, and the entries of other clients do not change. If a slot is being
// fired during the call, its job is still made from the old entry.
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

// RemoveCron removes a cron entry from this client and reports whether it existed. If a
// slot is being fired during the call, its job is still enqueued. Jobs that were
// enqueued before stay. The store keeps the last slot, so an entry that is set again
// continues after that slot.
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

// keepCrons gives the entries to the keeper if the keeper runs. The caller holds the
// client's lock.
func (c *Client) keepCrons() {
	if c.keeper != nil {
		c.keeper.SetCrons(slices.Clone(c.crons.kept))
	}
}

// newCron checks an entry and returns it as a keeper.Cron. The error is an ErrInvalid or an
// ErrTooLarge.
func (c *Client) newCron(s *Cron) (keeper.Cron, error) {
	k, err := c.cronOf(s)
	return k, invalid(err)
}

func (c *Client) cronOf(s *Cron) (keeper.Cron, error) {
	entry := *s
	k := keeper.Cron{Name: s.Name, Catch: s.Catch, Since: c.config.now()}
	var busy atomic.Bool
	var expression string
	k.Fire = func(ctx context.Context, slot time.Time) (store.Fired, error) {
		return cronWithin(ctx, CronLimit, &busy, entry.Name, func(ctx context.Context) (store.Fired, error) {
			return c.fire(ctx, &entry, expression, slot)
		})
	}
	if err := store.ValidName("name", s.Name); err != nil {
		return k, err
	}
	if s.Location == time.Local {
		return k, errors.New("the Location time.Local differs between machines; load a time zone by its name")
	}
	var err error
	if k.Expression, err = cron.Parse(s.Expression, s.Location); err != nil {
		return k, err
	}
	if expression = k.Expression.Identity(); len(expression) > store.ExpressionMax {
		return k, fmt.Errorf("expression with time zone of %d bytes: at most %d bytes are allowed; use a time zone with a shorter name: %w",
			len(expression), store.ExpressionMax, store.ErrTooLarge)
	}
	switch given := s.Spec.new.Kind != "" || s.Spec.Err() != nil; {
	case s.Catch != 0 && s.Catch < CronCatchMin:
		return k, fmt.Errorf("a Catch of %s: must be at least %s, or 0 to fire a missed slot until the next slot is due", s.Catch, CronCatchMin)
	case given == (s.Make != nil):
		return k, errors.New("the entry has neither Spec nor Make, or it has both; set one of them")
	case given:
		spec := cronSpec(s, time.Time{})
		if c.enqueueing.installed() { // a middleware may change the size of the payload
			spec.new.Payload = nil
		}
		var jobs []job.New
		if jobs, err = c.check(context.Background(), []Spec{spec}); err == nil {
			jobs[0].ID = 1
			err = store.Validate(&jobs[0])
		}
	}
	return k, err
}

// cronSpec returns the job to enqueue for a slot.
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
	Expression string    `json:"schedule,omitempty"` // the expression of the entry; "" when this client does not have the entry
	Zone       string    `json:"zone,omitempty"`
	Kind       string    `json:"kind,omitempty"` // the kind of the job; "" when Cron.Make makes the job
	Next       time.Time `json:"next,omitzero"`  // the next slot, by the client's clock
	Last       time.Time `json:"last,omitzero"`  // the last slot that was fired, by any client
	FiredAt    time.Time `json:"fired_at,omitzero"`
	Job        JobID     `json:"job,omitempty"` // the job that was enqueued for the last slot
	Paused     bool      `json:"paused,omitempty"`
	SetAt      time.Time `json:"set_at,omitzero"` // the time at which a person last paused or resumed the entry
}

// Crons returns the cron entries of this client and the entries that any client has
// fired on its store, sorted by name.
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
		if f.Slot > 0 {
			all[i].Last, all[i].FiredAt, all[i].Job = f.Slot.Time(), f.At.Time(), f.Job
		}
		if f.SetAt > 0 {
			all[i].Paused, all[i].SetAt = f.Paused, f.SetAt.Time()
		}
	}
	slices.SortFunc(all, func(a, b CronStatus) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// PauseCron pauses a cron entry for all clients of the store, in the name of a person. The
// entry is not fired until ResumeCron, and slots that pass meanwhile are not fired later. A
// pause is stored under the entry's name, so it also holds for clients that are started later
// and for an entry that has never fired. A second pause changes nothing.
func (c *Client) PauseCron(ctx context.Context, by By, name string) (CronSlot, error) {
	return c.store.SetSchedule(ctx, by, name, true)
}

// ResumeCron ends the pause of a cron entry. The entry continues with the first slot after
// the call. The error is ErrNotFound if the store does not have the name.
func (c *Client) ResumeCron(ctx context.Context, by By, name string) (CronSlot, error) {
	return c.store.SetSchedule(ctx, by, name, false)
}

// CronSlots returns the last fired slot of each cron entry that any client has ever
// fired or a person has paused on the store, sorted by name.
func (c *Client) CronSlots(ctx context.Context) ([]CronSlot, error) { return c.store.CronSlots(ctx) }

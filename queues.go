package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/store"
)

// WorkQueue adds a queue to those whose jobs Run executes, as if Config.Queues named it. A queue that
// Config.Queues names keeps its settings. It must come before Run, and before other goroutines use the
// client. The error is an ErrInvalid.
func (c *Client) WorkQueue(name string, q Queue) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	config := Config{Name: c.config.Name, Queues: map[string]Queue{name: q}}.withDefaults()
	_, known := c.config.Queues[name]
	switch err := config.validate(); {
	case err != nil:
		return fmt.Errorf("redrive: %w", err)
	case c.sealed:
		return invalid(fmt.Errorf("redrive: queue %q: WorkQueue must come before Run", name))
	case !known:
		c.config.Queues[name] = config.Queues[name]
	}
	return nil
}

// Queues returns the queues of the store, sorted by name, with the settings that people
// have made.
func (c *Client) Queues(ctx context.Context) ([]QueueSettings, error) { return c.store.Queues(ctx) }

// SetQueue changes the mode or the settings of a queue in the name of a person and returns
// the new settings. They take effect at once and override the configuration of every client
// until they are removed. Nil fields of the change keep their settings; a pointer to a zero
// value removes a setting.
//
// The error is ErrNotFound when no client has ever used the queue and the queue is not
// in Config.Queues. It is ErrInvalid for a value out of its bounds.
func (c *Client) SetQueue(ctx context.Context, by By, change QueueChange) (QueueSettings, error) {
	q, err := c.store.SetQueue(ctx, by, change)
	if _, configured := c.config.Queues[change.Name]; !configured || !errors.Is(err, store.ErrNotFound) {
		return q, err
	}
	if err := c.store.Declare(ctx, []string{change.Name}); err != nil {
		return q, err
	}
	return c.store.SetQueue(ctx, by, change)
}

// Counts returns the number of jobs by queue, kind and state. It reads counters, so its
// cost does not grow with the number of jobs.
func (c *Client) Counts(ctx context.Context) ([]JobCount, error) { return c.store.Counts(ctx) }

// Backlog is the work that is left in a store, divided into the work of one client and
// the work of others.
type Backlog struct {
	// Jobs counts the jobs of the client's queues and kinds by state, including ended
	// jobs.
	Jobs map[State]int64
	// Paused is the number of jobs in Jobs that wait in a paused queue, by queue.
	Paused map[string]int64
	// Others counts the live jobs that the client does not run: the client does not
	// work on their queue, or has no handler for their kind.
	Others []JobCount
	// Redrives is the number of active redrives that may retry jobs. WaitingRedrives has the
	// numbers of the redrives that continue only when jobs of other clients have ended.
	Redrives        int64
	WaitingRedrives []int64
}

// Live returns the amount of work left for the client: the number of its live jobs plus
// the number of redrives that may retry more jobs.
func (b *Backlog) Live() int64 {
	n := b.Redrives
	for state, jobs := range b.Jobs {
		if !state.Terminal() {
			n += jobs
		}
	}
	return n
}

// Runnable returns Live without the jobs in paused queues.
func (b *Backlog) Runnable() int64 {
	n := b.Live()
	for _, jobs := range b.Paused {
		n -= jobs
	}
	return n
}

// Backlog counts the work that is left. It reads counters, so its cost does not grow
// with the number of jobs.
func (c *Client) Backlog(ctx context.Context) (Backlog, error) {
	before, err := c.store.RedriveList(ctx)
	if err != nil {
		return Backlog{}, fmt.Errorf("count redrives: %w", err)
	}
	queues, err := c.store.Queues(ctx)
	if err != nil {
		return Backlog{}, fmt.Errorf("read queues: %w", err)
	}
	counts, err := c.store.Counts(ctx)
	if err != nil {
		return Backlog{}, fmt.Errorf("count live jobs: %w", err)
	}
	after, err := c.store.RedriveList(ctx)
	if err != nil {
		return Backlog{}, fmt.Errorf("count redrives: %w", err)
	}
	b := c.backlogOf(queues, counts)
	b.Redrives, b.WaitingRedrives = keeper.Going(before, after)
	return b, nil
}

// backlogOf divides the jobs into the jobs of this client and the jobs of other
// clients.
func (c *Client) backlogOf(queues []store.Queue, counts []store.Count) Backlog {
	b := Backlog{Jobs: make(map[State]int64), Paused: make(map[string]int64)}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range counts {
		_, configured := c.config.Queues[n.Queue]
		switch {
		case n.N == 0:
		case configured && c.handlers[n.Kind] != nil:
			b.Jobs[n.State] += n.N
			if n.State.Ready() && slices.ContainsFunc(queues, func(q store.Queue) bool { return q.Name == n.Queue && q.Mode == store.Paused }) {
				b.Paused[n.Queue] += n.N
			}
		case !n.State.Terminal():
			b.Others = append(b.Others, n)
		}
	}
	return b
}

package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/wire"
)

// Peeked says what would become of a record.
type Peeked struct {
	Partition int32
	Offset    int64
	Time      time.Time // of the record
	ID        string    // job_id; "" if the record has none that can be read
	Type      string    // task_type
	// Fate is job, existing, key_held, own, malformed or unknown_type. On the retry topic, own is a record
	// that a redrive has written. A record whose key a job holds is existing; or key_held, if that job was
	// removed.
	Fate string
	Text string // the fate in words
}

// PeekAt says which records Peek reads. The fields are those of kafka.PeekAt.
type PeekAt = kafka.PeekAt

// Peek reads up to at.N records and says what would become of each. It takes no record and changes
// nothing. With known set, it looks up in the client's store whether a job has the key.
func Peek(ctx context.Context, client *redrive.Client, config *Config, at PeekAt, known bool) ([]Peeked, error) {
	c, err := config.filled()
	if err != nil {
		return nil, err
	}
	records, err := kafka.Peek(ctx, c.kafka(client), at)
	all := make([]Peeked, 0, len(records))
	for i := range records {
		p := c.peeked(&records[i])
		if known && p.Fate == "job" {
			if err := c.lookUp(ctx, client, &records[i], &p); err != nil {
				return all, fmt.Errorf("stream %q: %w", c.Name, err)
			}
		}
		all = append(all, p)
	}
	if err != nil {
		return all, fmt.Errorf("stream %q: %w", c.Name, err)
	}
	return all, nil
}

// peeked says what the record alone tells.
func (c *Config) peeked(r *wire.Record) Peeked {
	p := Peeked{Partition: r.Partition, Offset: r.Offset, Time: r.Time}
	if w, ok := wire.Written(r); ok && r.Topic == c.Retry {
		p.Fate, p.Text = "own", fmt.Sprintf("no job: the store %s has written it for its job %d", w.Store, w.Job)
		return p
	}
	item := c.read(r)
	p.ID, p.Type = item.Task.ID, item.Task.Type
	if item.Dead != nil {
		p.Fate, p.Text = item.Dead.Reason, "a dead letter: "+item.Dead.Message
		return p
	}
	p.Fate, p.Text = "job", fmt.Sprintf("a job of the kind %s in the queue %s", c.Kinds[p.Type], c.Queue)
	if item.Task.DueAt.After(c.Now()) {
		p.Text += ", due at " + item.Task.DueAt.UTC().Format(time.RFC3339)
	}
	return p
}

// lookUp says whether a job holds the key of the record.
func (c *Config) lookUp(ctx context.Context, client *redrive.Client, r *wire.Record, p *Peeked) error {
	item := c.read(r)
	id, err := client.Lookup(ctx, "", c.Kinds[p.Type], item.Task.Key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	j, err := client.Get(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		p.Fate, p.Text = "key_held", fmt.Sprintf("no job: the key is that of the job %d, which was removed", id)
	case err != nil:
		return err
	default:
		p.Fate, p.Text = "existing", fmt.Sprintf("no new job: the job %d has the key and is %s", id, j.State)
	}
	return nil
}

// Offsets returns the offsets of the stream's partitions at a time, or those that the group has
// committed. The moves of a rewind are made of them.
func Offsets(ctx context.Context, client *redrive.Client, config *Config, at kafka.At) (map[store.Place]int64, error) {
	c, err := config.filled()
	if err != nil {
		return nil, err
	}
	offsets, err := kafka.Offsets(ctx, c.kafka(client), at)
	if err != nil {
		return nil, fmt.Errorf("stream %q: %w", c.Name, err)
	}
	return offsets, nil
}

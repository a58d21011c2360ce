package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/wire"
)

// HandedBack is the reason in the audit log of each job that HandBack cancels, unless the person gives
// another.
const HandedBack = "handed_back"

// handBackPage is how many tasks are written before their jobs are cancelled.
const handBackPage = 100

// HandBack gives the tasks of a stream that wait to another system: it writes each as a record to the
// retry topic, with its counts and its due time, and cancels its job when the record is acknowledged.
// Then it commits the positions as the offsets of the group, so that the other system reads on
// from there. It returns how many tasks it has written, also with an error.
//
// The stream and its queue must be paused, no job of the queue may run, and the group may have no members;
// otherwise the error is a store.ErrConflict that says what to do. After an error or a crash
// the same call goes on: a task may then be on the topic twice, with the same key.
func HandBack(ctx context.Context, client *redrive.Client, config *Config, by redrive.By) (n int, err error) {
	c, err := config.filled()
	if err == nil {
		n, err = c.handBack(ctx, client, by)
	}
	if err != nil {
		return n, fmt.Errorf("stream %q: %w", config.Name, err)
	}
	return n, nil
}

func (c *Config) handBack(ctx context.Context, client *redrive.Client, by redrive.By) (n int, err error) {
	if c.Retry == "" {
		return 0, fmt.Errorf("no retry topic is set, to which tasks are handed back: name one: %w", store.ErrInvalid)
	}
	if err := c.atRest(ctx, client); err != nil {
		return 0, err
	}
	o := c.kafka(client)
	members, err := kafka.Members(ctx, o)
	switch {
	case err != nil:
		return 0, err
	case members > 0:
		return 0, fmt.Errorf("the group %q has %d members: stop `redrive-stream run` everywhere: %w", o.Group, members, store.ErrConflict)
	}
	writer, err := kafka.NewWriter(o)
	if err != nil {
		return 0, err
	}
	defer writer.Close()
	partitions, err := writer.Partitions(ctx, c.Retry)
	if err != nil {
		return 0, err
	}
	if by.Reason == "" {
		by.Reason = HandedBack
	}
	filter := redrive.JobFilter{States: []job.State{job.Waiting, job.Retrying}, Queue: c.Queue, Limit: handBackPage}
	for {
		page, err := client.List(ctx, filter)
		if err != nil {
			return n, err
		}
		records, ids, err := c.handed(ctx, client, page.Jobs, partitions)
		if err != nil {
			return n, err
		}
		if len(records) > 0 {
			if err := writer.Write(ctx, records); err != nil {
				return n, fmt.Errorf("topic %q: %w", c.Retry, err)
			}
			crashpoint.Hit(crashpoint.BackAfterWrite)
			answers, err := client.CancelAll(ctx, by, ids)
			if err = errors.Join(append(answers, err)...); err != nil {
				return n, err
			}
			n += len(ids)
		}
		if page.Next == (store.Cursor{}) {
			break
		}
		filter.From = page.Next
	}
	positions, err := client.Positions(ctx, c.Name)
	if err != nil || len(positions) == 0 {
		return n, err
	}
	return n, kafka.CommitOffsets(ctx, o, positions)
}

// atRest returns an error unless nothing can begin to run while tasks are handed back.
func (c *Config) atRest(ctx context.Context, client *redrive.Client) error {
	streams, err := client.Streams(ctx)
	if err != nil {
		return err
	}
	switch i := slices.IndexFunc(streams, func(s store.Stream) bool { return s.Name == c.Name }); {
	case i < 0:
		return store.NoStream(c.Name)
	case streams[i].Mode != store.Paused:
		return fmt.Errorf("it is not paused, so it would take the tasks again: `redrive stream pause %s`: %w", c.Name, store.ErrConflict)
	}
	queues, err := client.Queues(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(queues, func(q store.Queue) bool { return q.Name == c.Queue }); i < 0 || queues[i].Mode != store.Paused {
		return fmt.Errorf("its queue %s is not paused, so a task could run here and elsewhere: `redrive queues pause %s`: %w", c.Queue, c.Queue, store.ErrConflict)
	}
	counts, err := client.Counts(ctx)
	for _, n := range counts {
		if err == nil && n.Queue == c.Queue && n.State == job.Running && n.N > 0 {
			return fmt.Errorf("%d jobs of the queue %s run: wait until they have ended, and repeat this: %w", n.N, c.Queue, store.ErrConflict)
		}
	}
	return err
}

// handed returns the records of those jobs that a record of this stream has brought. They do not name
// this store: all who read them, also another redrive, take them as tasks.
func (c *Config) handed(ctx context.Context, client *redrive.Client, jobs []job.Job, partitions int32) (records []wire.Record, ids []job.ID, err error) {
	failures := map[job.ID]*job.Failure{}
	all := make([]job.ID, len(jobs))
	for i := range jobs {
		all[i] = jobs[i].ID
	}
	if len(all) > 0 {
		found, err := client.Latest(ctx, all)
		if err != nil {
			return nil, nil, err
		}
		for i := range found {
			failures[found[i].Job] = &found[i]
		}
	}
	for _, id := range all {
		found, err := client.Get(ctx, id) // a list has no attributes and no payloads
		if err != nil {
			return nil, nil, err
		}
		j := &found
		var attrs struct {
			Stream *wire.Origin `json:"stream"`
		}
		if json.Unmarshal(j.Attrs, &attrs) != nil || attrs.Stream == nil || attrs.Stream.Stream != c.Name || attrs.Stream.Arrival != nil {
			continue
		}
		out := wire.OutOf(wire.Wait{Job: j.ID, Life: j.Life, Run: j.Token}, j, attrs.Stream, failures[j.ID])
		out.Group, out.Reason = c.Group, HandedBack
		r := out.Retry(c.Retry, partitions, c.Now())
		r.Headers = slices.DeleteFunc(r.Headers, func(h wire.Header) bool { return h.Name == wire.JobHeader || h.Name == wire.EventHeader })
		records, ids = append(records, r), append(ids, j.ID)
	}
	return records, ids, nil
}

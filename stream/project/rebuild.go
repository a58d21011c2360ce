package project

import (
	"context"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Rebuilt says what was written anew.
type Rebuilt struct {
	Written int64 // jobs whose documents or marks were written
	Refused int64 // those that cannot be written
	Removed int64 // documents of jobs that are not there any more
}

// Rebuild writes the documents of all dead letters anew, and removes those of other jobs of the same store. A process may
// write the same documents meanwhile: what it reads later is newer.
func (d *Documents) Rebuild(ctx context.Context, client *redrive.Client, queue string) (r Rebuilt, err error) {
	_, last, err := client.EventSpan(ctx)
	if err != nil {
		return r, err
	}
	paging := redrive.DeadPaging{Limit: job.PageMax}
	for {
		page, err := client.DeadLetters(ctx, redrive.DeadFilter{Queue: queue}, paging)
		if err != nil {
			return r, err
		}
		ids := make([]job.ID, len(page.Entries))
		for i := range page.Entries {
			ids[i] = page.Entries[i].DeadLetter.Job
		}
		if err := again(ctx, client, d, ids, last, &r); err != nil {
			return r, err
		}
		if paging.Before = page.Next; page.Next == 0 {
			break
		}
	}
	r.Removed, err = d.Store.Prune(ctx, d.StoreID, revOf(last))
	return r, err
}

// Rebuild writes the marks of all completed jobs that are kept.
func (m *Marks) Rebuild(ctx context.Context, client *redrive.Client, queue string) (r Rebuilt, err error) {
	_, last, err := client.EventSpan(ctx)
	if err != nil {
		return r, err
	}
	filter := redrive.JobFilter{States: []job.State{job.Completed}, Queue: queue, Order: store.Ended, Limit: job.PageMax}
	for {
		page, err := client.List(ctx, filter)
		if err != nil {
			return r, err
		}
		ids := make([]job.ID, len(page.Jobs))
		for i := range page.Jobs {
			ids[i] = page.Jobs[i].ID
		}
		if err := again(ctx, client, m, ids, last, &r); err != nil {
			return r, err
		}
		if filter.From = page.Next; page.Next == (store.Cursor{}) {
			return r, nil
		}
	}
}

// again writes the jobs to the sink, as of an event.
func again(ctx context.Context, client *redrive.Client, sink Sink, ids []job.ID, at event.Cursor, r *Rebuilt) error {
	events := make([]event.Event, len(ids))
	for i, id := range ids {
		events[i] = event.Event{Cursor: at, Job: id, Type: event.DeadLetterChanged}
	}
	items, err := itemsOf(ctx, client, events)
	for err == nil && len(items) > 0 {
		err = sink.Write(ctx, items)
		refused, ok := err.(*Refused) //nolint:errorlint // the sink's own answer
		if !ok {
			r.Written += int64(len(items))
			break
		}
		r.Written, r.Refused, err = r.Written+int64(refused.Index), r.Refused+1, nil
		items = items[refused.Index+1:]
	}
	return err
}

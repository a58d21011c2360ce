package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/wire"
)

// Document is a dead letter as it is kept elsewhere. It has the fields of the HTTP API.
type Document struct {
	ID   string // names the job: the id of the store, "/" and the number of the job
	From string // the id of the store
	Rev  int64  // a document with a higher one is newer
	Gone bool   // the dead letter was removed, with its job; the other fields are not set
	// Task is the task as it came, with its unknown fields and the payload as it is now: a JSON object with job_id,
	// task_type, payload and metadata. Without it, the job has no payload any more, and only the other fields have changed.
	Task       json.RawMessage
	JobID      string
	Reason     job.Reason
	DiedAt     time.Time
	Status     job.Status
	Action     job.DeadAction // the last action of a person; "" for none
	Notes      string
	ResolvedAt time.Time
	ResolvedBy string
	Job        job.ID
	Life       int32
	Class      string
	Code       string
	Group      string
	Source     string // topic/partition/offset of the record; "" without one
}

// DocumentStore keeps documents.
type DocumentStore interface {
	// Put writes each document, unless a newer one is there. A *Refused has the index of one that cannot be written.
	Put(ctx context.Context, all []Document) error
	// Prune removes the documents of a store with a lower rev. It returns how many.
	Prune(ctx context.Context, from string, rev int64) (int64, error)
}

// Documents is a sink that keeps a document for each dead letter of a stream. It writes what the store has now, so a
// document that is written twice, or late, does not go back.
type Documents struct {
	Stream  string            // the name of the stream
	StoreID string            // names the store
	Types   map[string]string // the task_type of each kind, where they differ
	Store   DocumentStore
	// Letter returns the dead letter of a job; ErrNotFound of package store means that the job has no dead letter.
	Letter func(ctx context.Context, id job.ID) (job.DeadLetter, error)
}

// Name implements Sink.
func (d *Documents) Name() string { return "documents" }

// Wants implements Sink.
func (d *Documents) Wants(e *event.Event) bool {
	return e.To == job.Dead || e.Type == event.JobRetried || e.Type == event.DeadLetterChanged || e.Type == event.DeadLetterPurged
}

// Write implements Sink.
func (d *Documents) Write(ctx context.Context, items []Item) error {
	all := make([]Document, 0, len(items))
	of := make([]int, 0, len(items))
	for i := range items {
		doc, ok, err := d.document(ctx, &items[i])
		if err != nil {
			return err
		}
		if ok {
			all, of = append(all, doc), append(of, i)
		}
	}
	if len(all) == 0 {
		return nil
	}
	err := d.Store.Put(ctx, all)
	if refused, ok := err.(*Refused); ok { //nolint:errorlint // the store's own answer
		return &Refused{of[refused.Index], refused.Err}
	}
	return err //nolint:wrapcheck // it names its server
}

// revOf is the number of an event in the order of all events.
func revOf(c event.Cursor) int64 { return c.Seq<<16 | int64(min(c.Index, 1<<16-1)) }

// document returns what the store has now; ok is false for a job of others.
func (d *Documents) document(ctx context.Context, item *Item) (doc Document, ok bool, err error) {
	j := &item.Job
	doc = Document{ID: fmt.Sprintf("%s/%d", d.StoreID, j.ID), From: d.StoreID, Rev: revOf(item.Event.Cursor), Job: j.ID}
	l, err := d.Letter(ctx, j.ID)
	if errors.Is(err, store.ErrNotFound) {
		doc.Gone = true
		return doc, true, nil
	}
	if err != nil {
		return doc, false, err
	}
	doc.Reason, doc.DiedAt, doc.Status, doc.Life = l.Reason, l.DiedAt.Time(), l.Status, l.Life
	doc.Class, doc.Code, doc.Group = l.Class, l.Code, l.Fingerprint
	if doc.Action = l.Action; l.Action != "" {
		doc.Notes, doc.ResolvedAt, doc.ResolvedBy = l.Note, l.ActedAt.Time(), l.ActedBy
	}
	if j.State == job.Completed && len(j.Attrs) == 0 {
		return doc, true, nil
	}
	origin := originOf(d.Stream, d.Types, j)
	if origin == nil {
		return doc, false, nil
	}
	if origin.Topic != "" {
		doc.Source = origin.String()
	}
	out := wire.OutOf(wire.Wait{Store: d.StoreID, Job: j.ID, Life: j.Life, Run: j.Token}, j, origin, item.Failure)
	doc.Task, doc.JobID = out.Task(), out.ID
	return doc, true, nil
}

package memory_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestListPagesFromTheNewest(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(5, func(i int, n *job.New) { n.Owner = strconv.Itoa(i % 2) })
	f := store.Filter{Owner: "0", Limit: 2}
	var got []job.ID
	for range 2 {
		page, err := b.List(b.ctx, f)
		b.ok(err)
		for _, j := range page.Jobs {
			got = append(got, j.ID)
		}
		f.From = page.Next
	}
	equal(t, "ids", got, []job.ID{5, 3, 1})
	equal(t, "next of the last page", f.From, store.Cursor{})
	if _, err := b.List(b.ctx, store.Filter{Limit: job.PageMax + 1}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("List with a limit above the maximum: got error %v, want ErrInvalid", err)
	}
}

func TestEventsResumeAtACursor(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(3, nil)
	b.exchange(nil, want(2))
	got, err := b.Events(b.ctx, event.Cursor{Seq: 1, Index: 2}, 2)
	b.ok(err)
	all := b.dump().Events
	equal(t, "events", got, all[2:4])
	equal(t, "cursor", got[1].Cursor, event.Cursor{Seq: 2, Index: 1})
}

func TestBytesAreCopied(t *testing.T) {
	t.Parallel()
	b := open(t)
	payload := []byte("payload")
	b.add(1, func(_ int, n *job.New) { n.Payload = payload })
	spoil := func(x []byte) { copy(x, bytes.Repeat([]byte("!"), len(x))) }
	spoil(payload)
	spoil(b.get(1).Payload)
	spoil(b.dump().Jobs[0].Payload)
	c := b.claim()
	equal(t, "claimed payload", string(c.Payload), "payload")
	spoil(c.Payload)
	o := failed(c, job.Retrying)
	o.Memo = []byte("memo")
	b.ok(b.settle(o))
	spoil(o.Memo)
	spoil(o.Failure.Stderr)
	failures, err := b.Failures(b.ctx, 1)
	b.ok(err)
	spoil(failures[0].Stderr)
	c = b.claim()
	equal(t, "memo", string(c.Memo), "memo")
	equal(t, "stderr", string(b.dump().Failures[0].Stderr), "tail")
	equal(t, "payload", string(b.get(1).Payload), "payload")
}

func TestTheClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	b := open(t)
	latest := b.dump().Now
	b.pass(-time.Hour)
	equal(t, "time", b.dump().Now, latest)
}

func TestNotifySendsOnceAndStops(t *testing.T) {
	t.Parallel()
	b := open(t)
	ch := make(chan struct{}, 1)
	stop := b.Notify(ch)
	b.add(1, nil)
	b.add(1, nil) // this enqueue fills the channel; a later notification must not block
	<-ch
	b.exchange(nil, want(1))
	select {
	case <-ch:
		t.Error("a claim sent a notification, want no notification")
	default:
	}
	stop()
	b.add(1, nil)
	select {
	case <-ch:
		t.Error("got a notification after the call of stop, want none")
	default:
	}
}

func TestClosedAndCancelledCallsAreRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	gone, cancel := context.WithCancel(b.ctx)
	cancel()
	if _, err := b.Dump(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("call with a cancelled context: got error %v, want the error of the context", err)
	}
	b.ok(b.Close())
	b.ok(b.Close())
	if _, err := b.Enqueue(b.ctx, nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("call on a closed store: got error %v, want ErrUnavailable", err)
	}
}

package sqlstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selRequest    = ask("selRequest")
	insRequest    = ask("insRequest")
	setAnswer     = ask("setAnswer")
	delRequest    = ask("delRequest")
	allRequests   = ask("allRequests")
	sweepRequests = ask("sweepRequests")
)

func scanRequest(r Row) store.Request {
	return store.Request{Scope: r.Text(0), Key: r.Text(1), Digest: r.Blob(2), At: job.Micros(r.Int(3)), First: job.ID(r.Int(4)),
		N: int(r.Int(5)), Through: r.Int(6), Status: int(r.Int(7)), Body: r.Blob(8)}
}

// BeginRequest implements store.Requests.
func (s *Core) BeginRequest(ctx context.Context, r store.Request) (stored store.Request, existing bool, err error) {
	if err := r.Validate(); err != nil {
		return store.Request{}, false, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		stored, existing, err = t.beginRequest(r)
		return err
	})
	if err != nil {
		return store.Request{}, false, err
	}
	return stored, existing, nil
}

func (t *Txn) beginRequest(r store.Request) (stored store.Request, existing bool, err error) {
	t.noDeadLetters = true
	if _, err := t.exec(delRequest, text(r.Scope), text(r.Key), num(t.now.Add(-store.RequestsKept))); err != nil {
		return r, false, err
	}
	r.At, r.Status, r.Body = t.now, 0, nil
	n, err := t.exec(insRequest, text(r.Scope), text(r.Key), blob(r.Digest), num(r.At), setNum(r.First), setNum(r.N), setNum(r.Through))
	if err != nil || n == 1 {
		return r, false, err
	}
	stored, err = t.request(r.Scope, r.Key)
	if err == nil && !bytes.Equal(stored.Digest, r.Digest) {
		err = stored.ReusedKey()
	}
	t.reliesOnEarlier = true
	return stored, true, err
}

// request reads the request with an idempotency key. If no such request exists, or if it is older than
// store.RequestsKept, the error is store.ErrNotFound.
func (t *Txn) request(scope, key string) (r store.Request, err error) {
	err = t.rows(selRequest, func(row Row) error { r = scanRequest(row); return nil }, text(scope), text(key))
	if err == nil && (r.Key == "" || r.At <= t.now.Add(-store.RequestsKept)) {
		err = fmt.Errorf("request %.80q: %w", key, store.ErrNotFound)
	}
	return r, err
}

// EndRequest implements store.Requests.
func (s *Core) EndRequest(ctx context.Context, scope, key string, status int, body []byte) error {
	if err := store.ValidateAnswer(scope, key, status, body); err != nil {
		return err
	}
	return s.db.Write(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		if _, err := t.request(scope, key); err != nil {
			return err
		}
		n, err := t.exec(setAnswer, text(scope), text(key), num(status), blob(body))
		t.reliesOnEarlier = t.reliesOnEarlier || n == 0
		return err
	})
}

// requests removes requests that are older than store.RequestsKept. The table is small, because
// it has one row for each bulk request with a key.
func (w *sweep) requests() error {
	_, err := w.exec(sweepRequests, num(w.now.Add(-store.RequestsKept)))
	return err
}

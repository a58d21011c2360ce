package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	severalLive   = ask("severalLive")
	severalDone   = ask("severalDone")
	severalDead   = ask("severalDead")
	severalLatest = ask("severalLatest")
	selProcessed  = ask("selProcessed")
)

// idList returns numbers, such as ids of jobs, as an argument with a JSON array.
func idList[N ~int64](ids []N) Value {
	b := make([]byte, 0, 12*len(ids)+2)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return text(string(append(b, ']')))
}

// inOrderOf returns the found values in the order of the ids. It leaves out ids without a found
// value.
func inOrderOf[N ~int64, T any](ids []N, found map[N]T) (list []T) {
	for _, id := range ids {
		if v, ok := found[id]; ok {
			list = append(list, v)
		}
	}
	return list
}

// GetAll implements store.Reader.
func (s *Core) GetAll(ctx context.Context, ids []job.ID) ([]job.Job, error) {
	if err := store.ValidIDs(ids); err != nil {
		return nil, err
	}
	var found map[job.ID]job.Job
	err := s.db.Read(ctx, func(c Session) (err error) {
		l := lister{c: c, f: &store.Filter{}}
		found, err = l.several(ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	return inOrderOf(ids, found), nil
}

// several reads many jobs by their ids. It returns only the jobs whose state the filter
// selects.
func (l *lister) several(ids []job.ID) (map[job.ID]job.Job, error) {
	found := make(map[job.ID]job.Job, len(ids))
	// A job is in only one of the tables. If redrive_done has several rows of the job, the last row
	// is used.
	for i, q := range slices.Backward([]*Query{severalLive, severalDone, severalDead}) {
		if !slices.ContainsFunc(places[i].states, l.f.Wants) {
			continue
		}
		if err := l.c.Rows(q, func(r Row) error { j := l.scan(r); found[j.ID] = j; return nil }, idList(ids)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Latest implements store.Reader.
func (s *Core) Latest(ctx context.Context, ids []job.ID) ([]job.Failure, error) {
	if err := store.ValidIDs(ids); err != nil {
		return nil, err
	}
	var found map[job.ID]job.Failure
	err := s.db.Read(ctx, func(c Session) error {
		found = make(map[job.ID]job.Failure, len(ids))
		return c.Rows(severalLatest, func(r Row) error {
			f, err := scanFailure(r)
			found[f.Job] = f
			return err
		}, idList(ids))
	})
	if err != nil {
		return nil, err
	}
	return inOrderOf(ids, found), nil
}

// Lookup implements store.Reader.
func (s *Core) Lookup(ctx context.Context, owner, kind, key string) (id job.ID, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		id, err = lookup(c, keyName{owner, kind, key}, s.db.Clock.Now())
		return err
	})
	return id, err
}

// Processed implements store.Reader.
func (s *Core) Processed(ctx context.Context, owner, kind, key string) (p job.Processed, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		p, err = processed(c, keyName{owner, kind, key}, s.db.Clock.Now())
		return err
	})
	return p, err
}

// processed returns the completed job that holds a key, whether or not retention has removed it.
func processed(c Session, name keyName, now job.Micros) (p job.Processed, err error) {
	state, result := job.State(0), []byte(nil)
	err = c.Rows(selProcessed, func(r Row) error {
		if until := job.Micros(r.Int(1)); until == 0 || until > now {
			p.ID, state, result = job.ID(r.Int(0)), cmp.Or(job.State(r.Int(2)), job.Completed), bytes.Clone(r.Blob(3))
		}
		return nil
	}, text(name.owner), text(name.kind), text(name.key))
	if err == nil && p.ID != 0 {
		switch j, missing := getJob(c, p.ID); {
		case missing == nil:
			state, result = j.State, j.Result
		case !errors.Is(missing, store.ErrNotFound):
			return job.Processed{}, missing
		}
	}
	switch {
	case err != nil:
		return job.Processed{}, err
	case p.ID == 0 || state != job.Completed || name.kind == "" || job.WhileAlive(name.key):
		return job.Processed{}, store.NoProcessed(name.owner, name.kind, name.key)
	}
	p.Summary = job.Summary(result)
	return p, nil
}

// lookup returns the job that holds an idempotency key, or 0 if no job holds it. Unlike
// Txn.heldKey, it needs no write transaction.
func lookup(c Session, name keyName, now job.Micros) (id job.ID, err error) {
	err = c.Rows(selKey, func(r Row) error {
		if until := job.Micros(r.Int(2)); until == 0 || until > now {
			id = job.ID(r.Int(0))
		}
		return nil
	}, text(name.owner), text(name.kind), text(name.key))
	if err == nil && id != 0 && job.WhileAlive(name.key) {
		live := false
		err = c.Rows(selLive, func(Row) error { live = true; return nil }, num(id))
		if !live {
			id = 0
		}
	}
	if err == nil && id == 0 {
		err = fmt.Errorf("key %.80q of the owner %.80q and the kind %.80q: no job holds the key: %w", name.key, name.owner, name.kind, store.ErrNotFound)
	}
	return id, err
}

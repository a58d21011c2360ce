package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selEndpoint    = ask("selEndpoint")
	allEndpoints   = ask("allEndpoints")
	countEndpoints = ask("countEndpoints")
	insEndpoint    = ask("insEndpoint")
	setEndpoint    = ask("setEndpoint")
	delEndpoint    = ask("delEndpoint")
)

// lockedEndpoints is the name of the lock for changes of endpoints.
const lockedEndpoints = "endpoints"

// endpointRow is the column "settings": an endpoint without its name and secrets. Times are in
// microseconds, because the times of store.Endpoint are encoded for people.
type endpointRow struct {
	URL          string   `json:"url"`
	AllowHTTP    bool     `json:"allow_http,omitempty"`
	Allow        []string `json:"allow,omitempty"`
	Ports        []uint16 `json:"ports,omitempty"`
	Version      int64    `json:"version"`
	Off          string   `json:"off,omitempty"`
	OffAt        int64    `json:"off_at,omitempty"`
	OldUntil     int64    `json:"old_until,omitempty"`
	CreatedAt    int64    `json:"created_at"`
	CreatedBy    string   `json:"created_by"`
	RotatedAt    int64    `json:"rotated_at,omitempty"`
	Delivered    int64    `json:"delivered,omitempty"`
	Failed       int64    `json:"failed,omitempty"`
	DeliveredAt  int64    `json:"delivered_at,omitempty"`
	FailingSince int64    `json:"failing_since,omitempty"`
}

// PutEndpoint implements store.Endpoints.
func (s *Core) PutEndpoint(ctx context.Context, by store.By, e store.Endpoint) (stored store.Endpoint, err error) {
	if err := errors.Join(by.Validate(), e.Validate()); err != nil {
		return stored, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		stored, err = t.putEndpoint(by, e)
		return err
	})
	if err != nil {
		return store.Endpoint{}, err
	}
	return stored, nil
}

func (t *Txn) putEndpoint(by store.By, e store.Endpoint) (stored store.Endpoint, err error) {
	before, known, err := t.lockEndpoint(e.Name)
	switch {
	case err != nil:
		return stored, err
	case !known && e.Version > 0:
		return stored, store.ErrNoEndpoint(e.Name)
	case !known:
		return t.addEndpoint(by, e)
	}
	stored, changed, err := before.Change(e, t.now)
	if err != nil || !changed {
		t.reliesOnEarlier = true
		return stored, err
	}
	if err := t.writeEndpoint(setEndpoint, &stored); err != nil {
		return stored, err
	}
	return stored, t.endpointChanged(by, &before, &stored)
}

// lockEndpoint locks all endpoints until the transaction ends, and reads one.
func (t *Txn) lockEndpoint(name string) (e store.Endpoint, known bool, err error) {
	if err := t.lockName(lockedEndpoints); err != nil {
		return e, false, err
	}
	err = t.rows(selEndpoint, func(r Row) (err error) { known = true; e, err = scanEndpoint(r); return err }, text(name))
	return e, known, err
}

func (t *Txn) addEndpoint(by store.By, e store.Endpoint) (store.Endpoint, error) {
	n, err := ReadInt(t.s, countEndpoints)
	if err != nil {
		return e, err
	}
	if n >= store.EndpointsMax {
		return e, store.ErrEndpointsFull(e.Name)
	}
	e = e.Create(by, t.now)
	if err := t.writeEndpoint(insEndpoint, &e); err != nil {
		return e, err
	}
	return e, t.endpointChanged(by, nil, &e)
}

// writeEndpoint writes the row of an endpoint, which is locked.
func (t *Txn) writeEndpoint(q *Query, e *store.Endpoint) error {
	settings, err := json.Marshal(endpointRow{URL: e.URL, AllowHTTP: e.AllowHTTP, Allow: e.Allow, Ports: e.Ports, Version: e.Version,
		Off: e.Off, OffAt: int64(e.OffAt), OldUntil: int64(e.OldUntil), CreatedAt: int64(e.CreatedAt), CreatedBy: e.CreatedBy, RotatedAt: int64(e.RotatedAt),
		Delivered: e.Delivered, Failed: e.Failed, DeliveredAt: int64(e.DeliveredAt), FailingSince: int64(e.FailingSince)})
	if err != nil {
		return fmt.Errorf("encode the webhook %s: %w", e.Name, err)
	}
	n, err := t.exec(q, text(e.Name), text(string(settings)), blob(e.Secret), setBlob(e.OldSecret))
	if err == nil && n == 0 {
		err = errors.New("webhook: the row was not changed, although it was read in this transaction") // This cannot happen: changes are locked.
	}
	return err
}

func (t *Txn) endpointChanged(by store.By, before, after *store.Endpoint) error {
	e, row := store.EndpointChanged(by, before, after)
	t.events.Add(&e)
	return t.audit(by, row.Action, row.Target, row.Before, row.After)
}

// Endpoints implements store.Endpoints.
func (s *Core) Endpoints(ctx context.Context) (list []store.Endpoint, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = readEndpoints(c)
		return err
	})
	return list, err
}

func readEndpoints(c Session) (list []store.Endpoint, err error) {
	err = c.Rows(allEndpoints, func(r Row) error {
		e, err := scanEndpoint(r)
		list = append(list, e)
		return err
	})
	return list, err
}

func scanEndpoint(r Row) (store.Endpoint, error) {
	var e endpointRow
	if err := json.Unmarshal([]byte(r.Text(1)), &e); err != nil {
		return store.Endpoint{}, fmt.Errorf("read the webhook %s: %w", r.Text(0), err)
	}
	return store.Endpoint{Name: r.Text(0), Secret: r.Blob(2), OldSecret: r.Blob(3), URL: e.URL, AllowHTTP: e.AllowHTTP, Allow: e.Allow, Ports: e.Ports,
		Version: e.Version, Off: e.Off, OffAt: job.Micros(e.OffAt), OldUntil: job.Micros(e.OldUntil), CreatedAt: job.Micros(e.CreatedAt), CreatedBy: e.CreatedBy,
		RotatedAt: job.Micros(e.RotatedAt), Delivered: e.Delivered, Failed: e.Failed, DeliveredAt: job.Micros(e.DeliveredAt), FailingSince: job.Micros(e.FailingSince)}, nil
}

// RemoveEndpoint implements store.Endpoints.
func (s *Core) RemoveEndpoint(ctx context.Context, by store.By, name string) error {
	if err := by.Validate(); err != nil {
		return err
	}
	return s.db.Write(ctx, func(t *Txn) error {
		e, known, err := t.lockEndpoint(name)
		if err == nil && !known {
			err = store.ErrNoEndpoint(name)
		}
		if err != nil {
			return err
		}
		if _, err := t.exec(delEndpoint, text(name)); err != nil {
			return err
		}
		return t.endpointChanged(by, &e, nil)
	})
}

// CountEndpoint implements store.Endpoints.
func (s *Core) CountEndpoint(ctx context.Context, name string, n store.EndpointCount) (next store.Endpoint, err error) {
	err = s.db.Write(ctx, func(t *Txn) error {
		before, known, err := t.lockEndpoint(name)
		if err == nil && !known {
			err = store.ErrNoEndpoint(name)
		}
		if err != nil {
			return err
		}
		off := false
		next, off = before.Count(n, t.now)
		if err := t.writeEndpoint(setEndpoint, &next); err != nil || !off {
			return err
		}
		if err := t.endpointChanged(store.By{Actor: store.SweepActor}, &before, &next); err != nil {
			return err
		}
		return t.insertNotices(t.cat.rules.Off(name, store.OffReason(next.Off), int64(next.OffAt), t.now))
	})
	if err != nil {
		return store.Endpoint{}, err
	}
	return next, nil
}

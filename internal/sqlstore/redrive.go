package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	insRedrive  = ask("insRedrive")
	selRedrive  = ask("selRedrive")
	keyRedrive  = ask("keyRedrive")
	lastRedrive = ask("lastRedrive")
	allRedrives = ask("allRedrives")
	selActive   = ask("selActive")
	setRedrive  = ask("setRedrive")
)

// keptSpec is a redrive's spec in the form in which the store keeps it. Statuses are numbers,
// and the override for jobs is in a separate column.
type keptSpec struct {
	store.RedriveSpec
	Filter   keptFilter     `json:"filter"`
	Queue    string         `json:"queue,omitempty"`
	Priority int8           `json:"priority"`
	Delay    *time.Duration `json:"delay,omitempty"` // in nanoseconds
	Live     *keptLive      `json:"live,omitempty"`

	Patch      []byte `json:"patch,omitempty"`
	PayloadMax int    `json:"payload_max,omitempty"`
}

// keptLive is the stored form of an action on live jobs.
type keptLive struct {
	Do     int      `json:"do"`
	Filter keptJobs `json:"filter"`
	At     int64    `json:"at"`
}

type keptJobs struct {
	store.Filter
	States  []int    `json:"states,omitempty"`
	Created keptSpan `json:"created,omitzero"`
	Due     keptSpan `json:"due,omitzero"`
}

type keptSpan struct {
	Since int64 `json:"since"`
	Until int64 `json:"until"`
}

func packSpan(s store.Span) keptSpan { return keptSpan{int64(s.Since), int64(s.Until)} }

func (s keptSpan) unpack() store.Span {
	return store.Span{Since: job.Micros(s.Since), Until: job.Micros(s.Until)}
}

func packLive(l *store.LiveSpec) *keptLive {
	if l == nil {
		return nil
	}
	k := &keptLive{Do: int(l.Do), At: int64(l.At), Filter: keptJobs{Filter: l.Filter, Created: packSpan(l.Filter.Created), Due: packSpan(l.Filter.Due)}}
	for _, s := range l.Filter.States {
		k.Filter.States = append(k.Filter.States, int(s))
	}
	return k
}

func (k *keptLive) unpack() *store.LiveSpec {
	if k == nil {
		return nil
	}
	l := &store.LiveSpec{Do: store.LiveAct(k.Do), At: job.Micros(k.At), Filter: k.Filter.Filter}
	l.Filter.Created, l.Filter.Due, l.Filter.States = k.Filter.Created.unpack(), k.Filter.Due.unpack(), nil
	for _, s := range k.Filter.States {
		l.Filter.States = append(l.Filter.States, job.State(s))
	}
	return l
}

type keptFilter struct {
	store.DeadFilter
	Statuses []int `json:"statuses"`
	Since    int64 `json:"since,omitempty"` // job.Micros as a number, because the text form of this type cannot be read back
	Until    int64 `json:"until,omitempty"`
}

func packSpec(s *store.RedriveSpec) ([]byte, error) {
	k := keptSpec{RedriveSpec: *s, Filter: keptFilter{DeadFilter: s.Filter}, Queue: s.Change.Queue, Priority: s.Change.Priority,
		Delay: s.Change.Delay, Live: packLive(s.Live), Patch: s.Patch, PayloadMax: s.PayloadMax}
	k.Filter.Since, k.Filter.Until = int64(s.Filter.Since), int64(s.Filter.Until)
	for _, status := range s.Filter.Statuses {
		k.Filter.Statuses = append(k.Filter.Statuses, int(status))
	}
	return json.Marshal(k)
}

func unpackSpec(packed, policy []byte) (store.RedriveSpec, error) {
	var k keptSpec
	err := json.Unmarshal(packed, &k)
	s := k.RedriveSpec
	s.Filter, s.Filter.Statuses = k.Filter.DeadFilter, nil
	s.Filter.Since, s.Filter.Until = job.Micros(k.Filter.Since), job.Micros(k.Filter.Until)
	for _, status := range k.Filter.Statuses {
		s.Filter.Statuses = append(s.Filter.Statuses, job.Status(status))
	}
	s.Live, s.Patch, s.PayloadMax = k.Live.unpack(), k.Patch, k.PayloadMax
	s.Change = store.Change{Queue: k.Queue, Priority: k.Priority, Once: s.Live == nil, Override: policy, Delay: k.Delay}
	return s, err
}

func scanRedrive(r Row) (d store.Redrive, err error) {
	spec, err := unpackSpec(r.Blob(1), r.Blob(2))
	if err != nil {
		return d, fmt.Errorf("redrive %d: %w", r.Int(0), err)
	}
	spec.Key, spec.Total = r.Text(21), max(spec.Total, r.Int(14))
	d = store.Redrive{
		ID: r.Int(0), RedriveSpec: spec, State: store.RedriveState(r.Text(3)), Resume: store.RedriveState(r.Text(4)),
		Why: r.Text(5), By: r.Text(6), Reason: r.Text(7), CreatedAt: job.Micros(r.Int(8)), EndedAt: job.Micros(r.Int(9)),
		Cursor: r.Int(10), LastAt: job.Micros(r.Int(11)), Released: r.Int(14), Answered: r.Int(15), Again: r.Int(16),
		Completed: r.Int(17), Dead: r.Int(18), Cancelled: r.Int(19), Audited: r.Int(20), Refused: r.Int(22), RefusedWhy: r.Text(23),
		Other: r.Int(24),
	}
	if err := errors.Join(unpackJSON(r.Blob(12), &d.Base), unpackJSON(r.Blob(13), &d.Causes)); err != nil {
		return d, fmt.Errorf("redrive %d: %w", d.ID, err)
	}
	return d, nil
}

// unpackJSON reads a column that may be NULL.
func unpackJSON(packed []byte, v any) error {
	if packed == nil {
		return nil
	}
	return json.Unmarshal(packed, v)
}

// packJSON returns the value of a column that is NULL if v has no content.
func packJSON(v any, empty bool) (Value, error) {
	if empty {
		return Value{}, nil
	}
	packed, err := json.Marshal(v)
	return blob(packed), err
}

// readRedrives returns the redrives that a statement selects.
func readRedrives(c Session, q *Query, args ...Value) (list []store.Redrive, err error) {
	err = c.Rows(q, func(r Row) error {
		d, err := scanRedrive(r)
		list = append(list, d)
		return err
	}, args...)
	return list, err
}

func oneRedrive(c Session, id int64) (store.Redrive, error) {
	list, err := readRedrives(c, selRedrive, num(id))
	switch {
	case err != nil:
		return store.Redrive{}, err
	case len(list) == 0:
		return store.Redrive{}, fmt.Errorf("redrive %d: %w", id, store.ErrNotFound)
	}
	return list[0], nil
}

// StartRedrive implements store.Redrives.
func (s *Core) StartRedrive(ctx context.Context, by store.By, spec store.RedriveSpec) (r store.Redrive, err error) {
	spec = spec.WithDefaults()
	if err := errors.Join(by.Validate(), spec.Validate()); err != nil {
		return store.Redrive{}, err
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		r, err = t.startRedrive(by, &spec)
		return err
	})
	if err != nil {
		return store.Redrive{}, err
	}
	return r, nil
}

func (t *Txn) startRedrive(by store.By, spec *store.RedriveSpec) (r store.Redrive, err error) {
	if err := t.lockDeadLetters(); err != nil {
		return r, err
	}
	if spec.Key != "" {
		known, err := readRedrives(t.s, keyRedrive, text(spec.Key))
		switch {
		case err != nil:
			return r, err
		case len(known) > 0:
			t.reliesOnEarlier = true
			return known[0], nil
		}
	}
	if spec.Live != nil && spec.Live.At == 0 {
		spec.Live = &store.LiveSpec{Do: spec.Live.Do, Filter: spec.Live.Filter, At: t.now}
	}
	if err := t.roomForAll(spec); err != nil {
		return r, err
	}
	state := store.RedriveCanary
	if spec.Canary == 0 {
		state = store.RedriveRamping
	}
	packed, err := packSpec(spec)
	if err != nil {
		return r, err
	}
	t.wrote = true
	var id int64
	err = t.rows(insRedrive, func(r Row) error { id = r.Int(0); return nil }, blob(packed), setBlob(spec.Change.Override),
		text(state), text(by.Actor), setText(by.Reason), num(t.now), setText(spec.Key))
	if err != nil {
		return r, err
	}
	if r, err = oneRedrive(t.s, id); err != nil {
		return r, err
	}
	t.events.Add(new(store.RedriveEvent(&r)))
	t.wake = true
	return r, t.audit(by, "redrive.start", strconv.FormatInt(id, 10), "", spec.Audit())
}

// Redrive implements store.Redrives.
func (s *Core) Redrive(ctx context.Context, id int64) (r store.Redrive, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		r, err = oneRedrive(c, id)
		return err
	})
	return r, err
}

// RedriveList implements store.Redrives.
func (s *Core) RedriveList(ctx context.Context) (list []store.Redrive, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = readRedrives(c, lastRedrive, num(store.RedrivesMax))
		return err
	})
	return list, err
}

// ControlRedrive implements store.Redrives.
func (s *Core) ControlRedrive(ctx context.Context, by store.By, id int64, do store.RedriveOp) (r store.Redrive, err error) {
	if err := by.ValidateOn(1); err != nil {
		return store.Redrive{}, err
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		r, err = t.controlRedrive(by, id, do)
		return err
	})
	if err != nil {
		return store.Redrive{}, err
	}
	return r, nil
}

func (t *Txn) controlRedrive(by store.By, id int64, do store.RedriveOp) (store.Redrive, error) {
	if err := t.lockDeadLetters(); err != nil {
		return store.Redrive{}, err
	}
	r, err := oneRedrive(t.s, id)
	if err != nil {
		return r, err
	}
	seen := r
	changed, err := r.Apply(t.now, do)
	if err == nil && !changed {
		return r, nil
	}
	if err := cmp.Or(by.CheckRedrive(&seen), err); err != nil {
		return seen, err
	}
	if err := errors.Join(t.auditReleases(&r), t.keepRedrive(&r)); err != nil {
		return r, err
	}
	t.events.Add(new(store.RedriveEvent(&r)))
	t.wake = true
	return r, t.audit(by, "redrive."+string(do), strconv.FormatInt(id, 10), string(seen.State), string(r.State))
}

// keepRedrive writes the row of a redrive that a step or a person has changed.
func (t *Txn) keepRedrive(r *store.Redrive) error {
	base, err1 := packJSON(r.Base, r.Base == store.RedriveCounts{})
	causes, err2 := packJSON(r.Causes, len(r.Causes) == 0)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	n, err := t.exec(setRedrive, num(r.ID), text(r.State), setText(r.Resume), setText(r.Why), setNum(r.EndedAt), num(r.Cursor),
		num(r.LastAt), base, causes, num(r.Released), num(r.Audited), num(r.Refused), setText(r.RefusedWhy))
	if err == nil && n == 0 {
		err = fmt.Errorf("redrive %d: its row was read in this transaction, but the update did not find the row", r.ID) // This cannot happen: the row was read in this transaction.
	}
	return err
}

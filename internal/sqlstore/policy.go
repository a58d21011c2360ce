package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	insPolicy    = ask("insPolicy")
	selPolicy    = ask("selPolicy")
	selInForce   = ask("selInForce")
	setInForce   = ask("setInForce")
	listPolicies = ask("listPolicies")
)

// PublishPolicy implements store.Policies.
func (s *Core) PublishPolicy(ctx context.Context, by store.By, p store.StoredPolicy) error {
	if err := errors.Join(by.Validate(), p.Validate()); err != nil {
		return err
	}
	return s.db.Write(ctx, func(t *Txn) error { return t.publishPolicy(by, &p) })
}

func (t *Txn) publishPolicy(by store.By, p *store.StoredPolicy) error {
	if err := t.lockName("policies"); err != nil {
		return err
	}
	same := false
	err := t.rows(selInForce, func(r Row) error { same = r.Text(0) == p.Hash; return nil })
	if err != nil || same {
		t.reliesOnEarlier = same
		return err
	}
	changed, err := t.exec(insPolicy, text(p.Hash), text(p.Name), num(t.now), text(by.Actor), blob(p.Body))
	if err != nil {
		return err
	}
	name := p.Name
	if changed == 0 { // the store already has this policy; the policy keeps its first name
		err = t.rows(selPolicy, func(r Row) error { name = scanPolicyHead(r).Name; return nil }, text(p.Hash))
		if err != nil {
			return err
		}
	}
	t.events.Add(&event.Event{Type: event.PolicyChanged, Reason: p.Hash})
	if err := t.audit(by, "policy.publish", p.Hash, "", name); err != nil {
		return err
	}
	_, err = t.exec(setInForce)
	return err
}

// Policy implements store.Policies.
func (s *Core) Policy(ctx context.Context, hash string) (p store.StoredPolicy, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		p = store.StoredPolicy{}
		return c.Rows(selPolicy, func(r Row) error { p = scanPolicy(r); return nil }, text(hash))
	})
	if err == nil && p.Hash == "" {
		err = fmt.Errorf("policy %.80q: %w", hash, store.ErrNotFound)
	}
	return p, err
}

// PolicyList implements store.Policies.
func (s *Core) PolicyList(ctx context.Context) (list []store.StoredPolicy, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list = nil
		return c.Rows(listPolicies, func(r Row) error {
			list = append(list, scanPolicyHead(r))
			return nil
		}, num(store.PoliciesMax))
	})
	return list, err
}

func scanPolicyHead(r Row) store.StoredPolicy {
	return store.StoredPolicy{Hash: r.Text(0), Name: r.Text(1), At: job.Micros(r.Int(2)), By: r.Text(3)}
}

func scanPolicy(r Row) store.StoredPolicy {
	p := scanPolicyHead(r)
	p.Body = r.Blob(4)
	return p
}

package redrive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// A person says that the failures of a group are passing ones. The next failure with the same words, but other numbers, is
// retried; the act is audited, and the label stays.
//
// proves: R9
func TestR9_AReclassifiedCauseIsDecidedAnew(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		ctx := t.Context()
		s := d.open()
		c, err := redrive.New(s, &redrive.Config{Name: "redrive", TempDir: t.TempDir(), Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		text := "sheet 17 of the plotter is invalid: the ribbon sleeps"
		redrive.Handle(c, render, func(context.Context, *redrive.Job[renderArgs]) error { return errors.New(text) }, nil)
		fail := func() job.Failure {
			r, err := c.Enqueue(ctx, render.New(renderArgs{}, nil))
			if err == nil {
				err = c.RunUntilEmpty(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
			failures, err := c.Failures(ctx, r.ID)
			if err != nil || len(failures) == 0 {
				t.Fatalf("got %d failures and error %v, want one", len(failures), err)
			}
			return failures[0]
		}
		first := fail()
		if first.Class != string(failure.InvalidInput) && first.Class != string(failure.ValidationError) {
			t.Fatalf("the first failure is %s, want a class that is not retried", first.Class)
		}
		if _, err := c.Reclassify(ctx, ops, first.Fingerprint, "Nonsense"); !errors.Is(err, redrive.ErrInvalid) {
			t.Errorf("a class that nobody knows: got error %v, want ErrInvalid", err)
		}
		if _, err := c.Reclassify(ctx, ops, "2:0000", failure.PaymentRequired); !errors.Is(err, redrive.ErrNotFound) {
			t.Errorf("a group that is not there: got error %v, want ErrNotFound", err)
		}
		n, err := c.Reclassify(ctx, ops, first.Fingerprint, failure.PaymentRequired)
		if err != nil || n.What != store.Label || n.By != ops.Actor {
			t.Fatalf("got %+v and error %v, want a label", n, err)
		}
		text = "sheet 99 of the plotter is invalid: the ribbon sleeps"
		if second := fail(); second.Class != string(failure.PaymentRequired) {
			t.Errorf("the failure after it is %s, want PaymentRequired", second.Class)
		}
		labels, err := c.Labels(ctx)
		if err != nil || len(labels) != 1 || labels[0].Class != failure.PaymentRequired {
			t.Errorf("labels: got %+v and error %v, want one", labels, err)
		}
		audit, err := c.Audit(ctx, redrive.AuditFilter{})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i := range audit.Entries {
			found = found || audit.Entries[i].Action == "group.label" && audit.Entries[i].Target == first.Fingerprint && audit.Entries[i].Actor == ops.Actor
		}
		if !found {
			t.Errorf("no row of the audit log is about the label: %+v", audit)
		}
		if p := c.Policy(); p.Hash() == policy.Default().Hash() {
			t.Error("the policy with the label has the hash of the one without")
		} else if _, err := c.StoredPolicy(ctx, p.Hash()); err != nil {
			t.Errorf("the policy with the label is not stored: %v", err)
		}
	})
}

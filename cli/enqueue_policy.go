package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store"
)

// policyOfEnqueue returns the policy whose rules say where a job goes that is taken
// in, and the store, opened. While the policy of the configuration cannot be used,
// it is the one before it, as with workers that run: a mistake in a file must neither
// lose jobs nor let them past the rules. If none was ever in force, there is nothing
// that could be said of a job, and it is refused.
func (a *app) policyOfEnqueue(ctx context.Context, s *settings) (*policy.Policy, jobStore, error) {
	p, bad := loadPolicy(s.policyName())
	d, err := a.databaseOf(s.Config)
	if err != nil {
		return nil, nil, err
	}
	if bad != nil && d.there(ctx) != nil {
		return nil, nil, bad // and no database is made
	}
	st, err := d.open(ctx, a.warnings())
	if err != nil {
		return nil, nil, err
	}
	if bad == nil {
		return p, st, nil
	}
	if p, err = lastInForce(ctx, st); err != nil || p == nil {
		if err != nil {
			bad = &noted{bad, fmt.Sprintf("the policy that was in force before cannot be used either: %v", err)}
		}
		return nil, nil, errors.Join(bad, st.Close())
	}
	for line := range strings.Lines(bad.Error()) {
		fmt.Fprintf(a.stderr, "redrive: %s\n", words.Clean(strings.TrimRight(line, "\n")))
	}
	fmt.Fprintf(a.stderr, "redrive: the policy cannot be used; jobs are taken in by the one that was in force before, %s (%s)\n",
		words.Clean(p.Name()), policy.ShortHash(p.Hash()))
	return p, st, nil
}

// lastInForce returns the policy that was put in force last in a database, by the
// audit log; nil when there is none.
func lastInForce(ctx context.Context, st store.Store) (*policy.Policy, error) {
	hash := ""
	for after := int64(0); ; {
		rows, err := st.Audit(ctx, after, job.PageMax)
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		for i := range rows {
			if rows[i].Action == "policy.publish" {
				hash = rows[i].Target
			}
		}
		if len(rows) < job.PageMax {
			break
		}
		after = rows[len(rows)-1].Seq
	}
	if hash == "" {
		return nil, nil
	}
	stored, err := st.Policy(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("read policy %s: %w", hash, err)
	}
	f, err := policyfile.Parse("policy "+policy.ShortHash(hash), stored.Body)
	if err != nil { // for example of a program that made its policy in Go
		return nil, err
	}
	return f.Policy, nil
}

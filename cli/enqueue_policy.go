package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// policyOfEnqueue returns the opened database and the policy whose rules choose the queue
// of new jobs. If the policy of the configuration cannot be used, it returns the last
// policy that was in force, as running workers do: a mistake in a file must not lose jobs
// or bypass the rules. If no policy was ever in force, it returns an error and the job is
// refused.
func (a *app) policyOfEnqueue(ctx context.Context, s *settings) (*policy.Policy, *opened, error) {
	p, bad := loadPolicy(s.policyName())
	d, err := a.databaseOf(s.Config)
	if err != nil {
		return nil, nil, err
	}
	if bad != nil && d.there(ctx) != nil {
		return nil, nil, bad // return before opening the database, because that would create it
	}
	db, err := d.openOrCreate(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	if bad == nil {
		return p, db, nil
	}
	client, err := db.operator(nil, nil)
	if err == nil {
		p, err = lastInForce(ctx, client)
	}
	if err != nil || p == nil {
		if err != nil {
			bad = &noted{bad, fmt.Sprintf("the policy that was in force before cannot be used either: %v", err)}
		}
		return nil, nil, errors.Join(bad, db.Close())
	}
	for line := range strings.Lines(bad.Error()) {
		fmt.Fprintf(a.stderr, "redrive: %s\n", words.Clean(strings.TrimRight(line, "\n")))
	}
	fmt.Fprintf(a.stderr, "redrive: the policy cannot be used; new jobs use the previous policy, %s (%s)\n",
		words.Clean(p.Name()), policy.ShortHash(p.Hash()))
	return p, db, nil
}

// lastInForce returns the policy that was put in force last, according to the audit log. It
// returns nil if no policy was ever put in force.
func lastInForce(ctx context.Context, client *redrive.Client) (*policy.Policy, error) {
	page, err := auditPages(ctx, client, redrive.AuditFilter{Actions: []string{"policy.publish"}, Limit: 1}, 0)
	if err != nil || len(page.Entries) == 0 {
		return nil, err
	}
	hash := page.Entries[0].Target
	stored, err := client.StoredPolicy(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("read policy %s: %w", hash, err)
	}
	f, err := policyfile.Parse("policy "+policy.ShortHash(hash), stored.Body)
	if err != nil { // the text cannot be parsed, for example because the policy was made by a Go program and not from a file
		return nil, err
	}
	return f.Policy, nil
}

package store

import (
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
)

// Validate checks a new job. It returns an ErrInvalid or ErrTooLarge that names the field and
// its limit when a store cannot accept the job. Every store calls it before it writes.
func Validate(n *job.New) error {
	switch {
	case n.ID < 1:
		return fmt.Errorf("job id %d is not valid: ids come from ReserveIDs: %w", n.ID, ErrInvalid)
	case n.Priority < job.PriorityMin || n.Priority > job.PriorityMax:
		return fmt.Errorf("priority %d: must be %d to %d: %w", n.Priority, job.PriorityMin, job.PriorityMax, ErrInvalid)
	case n.RunAt < 0 || n.Deadline < 0 || n.KeyUntil < 0:
		return fmt.Errorf("a time before 1970 cannot be stored: %w", ErrInvalid)
	case n.RunAt > UntilMax || n.Deadline > UntilMax || n.KeyUntil > UntilMax:
		return fmt.Errorf("a time after the year 9999 cannot be stored: %w", ErrInvalid)
	case n.KeyPeriod < 0 || n.KeyPeriod%time.Microsecond != 0:
		return fmt.Errorf("key period %s: the period must be a whole number of microseconds, or 0: %w", n.KeyPeriod, ErrInvalid)
	case n.KeyPeriod != 0 && (n.Key == "" || n.KeyUntil != 0):
		return fmt.Errorf("key period %s: a job with a key period must have a key, and must not have KeyUntil: %w", n.KeyPeriod, ErrInvalid)
	case job.WhileAlive(n.Key) && (n.KeyUntil != 0 || n.KeyPeriod != 0):
		return fmt.Errorf("key %q is held while its job is alive, so KeyUntil and KeyPeriod must be 0: %w", n.Key, ErrInvalid)
	case n.Batch < 0 || n.Aside && n.Batch == 0:
		return fmt.Errorf("batch %d: must be the number of a batch, or 0 without one; only a member of a batch can be aside: %w", n.Batch, ErrInvalid)
	case len(n.Payload) > job.PayloadMax:
		return fmt.Errorf("payload of %d bytes: at most %d bytes are allowed: %w", len(n.Payload), job.PayloadMax, ErrTooLarge)
	case len(n.Override) > job.PolicyMax:
		return fmt.Errorf("settings of %d bytes: at most %d bytes are allowed: %w", len(n.Override), job.PolicyMax, ErrTooLarge)
	case len(n.Attrs) > job.AttrsMax:
		return fmt.Errorf("attributes of %d bytes: at most %d bytes are allowed: %w", len(n.Attrs), job.AttrsMax, ErrTooLarge)
	}
	if _, err := job.ParseTerms(n.Terms); err != nil {
		return fmt.Errorf("the terms of the policy cannot be used: %w: %w", err, ErrInvalid)
	}
	if err := ValidName("kind", n.Kind); err != nil {
		return err
	}
	if err := ValidName("queue", n.Queue); err != nil {
		return err
	}
	texts := [...]struct{ field, value string }{
		{"owner", n.Owner}, {"key", n.Key}, {"correlation id", n.Correlation}, {"dependencies", n.Deps},
	}
	for _, t := range texts {
		if len(t.value) > job.TextMax {
			return fmt.Errorf("%s of %d bytes: at most %d bytes are allowed: %w", t.field, len(t.value), job.TextMax, ErrTooLarge)
		}
	}
	return nil
}

// ValidName checks the name of a kind, a queue, a schedule or a set: 1 to job.NameMax bytes of
// letters, digits, '_', '-', '.', ':' and '/'. The first argument says what is named; the
// ErrInvalid begins with it.
func ValidName(what, name string) error {
	if len(name) < 1 || len(name) > job.NameMax {
		return fmt.Errorf("%s of %d bytes: must be 1 to %d bytes: %w", what, len(name), job.NameMax, ErrInvalid)
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '_', c == '-', c == '.', c == ':', c == '/':
		default:
			return fmt.Errorf("%s %q: only letters, digits and _-.:/ are allowed: %w", what, name, ErrInvalid)
		}
	}
	return nil
}

// ValidIDs returns an ErrTooLarge when a call has too many ids. It is for calls that return
// one row for each id.
func ValidIDs(ids []job.ID) error {
	if len(ids) > job.PageMax {
		return fmt.Errorf("%d job ids in one call: at most %d ids are allowed; divide them over several calls: %w", len(ids), job.PageMax, ErrTooLarge)
	}
	return nil
}

// Apply returns the queue with the change applied.
func (c *QueueChange) Apply(q Queue) Queue {
	if c.Mode != nil {
		q.Mode = *c.Mode
	}
	if c.Workers != nil {
		q.Workers = *c.Workers
	}
	if c.Limit != nil {
		q.Limit = *c.Limit
	}
	if c.Rate != nil {
		q.Rate = *c.Rate
	}
	return q
}

// Limits of the queue settings that a person can make.
const (
	// WorkersMax limits the workers of one process, so that one exchange can hold the running jobs
	// and the same number of jobs claimed in advance.
	WorkersMax = job.ExchangeMax / 2
	LimitMax   = 1_000_000
)

// Validate returns an ErrInvalid that names the wrong setting and its limit.
func (c *QueueChange) Validate() error {
	switch {
	case c.Mode != nil && *c.Mode > Draining:
		return fmt.Errorf("queue %q: mode %d is unknown: %w", c.Name, *c.Mode, ErrInvalid)
	case c.Workers != nil && (*c.Workers < 0 || *c.Workers > WorkersMax):
		return fmt.Errorf("queue %q: the number of workers is %d, but it must be 0 to %d: %w", c.Name, *c.Workers, WorkersMax, ErrInvalid)
	case c.Limit != nil && (*c.Limit < 0 || *c.Limit > LimitMax):
		return fmt.Errorf("queue %q: the limit is %d, but it must be 0 to %d: %w", c.Name, *c.Limit, LimitMax, ErrInvalid)
	case c.Rate != nil:
		if err := c.Rate.Validate(); err != nil {
			return fmt.Errorf("queue %q: %w", c.Name, err)
		}
	}
	return nil
}

// Validate returns an ErrInvalid when the exchange as a whole is not allowed. Errors that
// concern only one outcome are returned in Exchanged.Settled.
func (x *Exchange) Validate() error {
	wanted := 0
	for i := range x.Want {
		w := &x.Want[i]
		wanted += max(0, w.Max)
		for k := range w.Kinds {
			if _, err := job.ParseTerms(w.Kinds[k].Terms); err != nil {
				return fmt.Errorf("kind %q: the terms of the policy cannot be used: %w: %w", w.Kinds[k].Kind, err, ErrInvalid)
			}
		}
	}
	switch {
	case x.Holder == "" || len(x.Holder) > job.TextMax:
		return fmt.Errorf("holder: the name has %d bytes: it must have 1 to %d bytes: %w", len(x.Holder), job.TextMax, ErrInvalid)
	case x.Lease <= 0:
		return fmt.Errorf("lease %s: must be above zero: %w", x.Lease, ErrInvalid)
	case len(x.Settle) > job.ExchangeMax || wanted > job.ExchangeMax:
		return fmt.Errorf("exchange of %d outcomes and %d wanted jobs: at most %d outcomes and as many wanted jobs are allowed: %w",
			len(x.Settle), wanted, job.ExchangeMax, ErrInvalid)
	}
	return nil
}

// Validate returns an ErrInvalid when the actor is missing or not allowed, or when the reason
// is too long.
func (b By) Validate() error {
	switch {
	case b.Actor == "":
		return fmt.Errorf("actor: the name is empty: set By.Actor to the person or the program that acts, in 1 to %d bytes: %w", job.TextMax, ErrInvalid)
	case len(b.Actor) > job.TextMax:
		return fmt.Errorf("actor (By.Actor): the name has %d bytes: it must have 1 to %d bytes: %w", len(b.Actor), job.TextMax, ErrInvalid)
	case b.Actor == SweepActor || strings.HasPrefix(b.Actor, SweepActor+" "):
		return fmt.Errorf("actor %q: only redrive itself may use this name in the audit log; use another name: %w", b.Actor, ErrInvalid)
	case len(b.Reason) > job.MessageMax:
		return fmt.Errorf("reason of %d bytes: at most %d bytes are allowed: %w", len(b.Reason), job.MessageMax, ErrTooLarge)
	case len(b.Via) > job.TextMax:
		return fmt.Errorf("via of %d bytes: at most %d bytes are allowed: %w", len(b.Via), job.TextMax, ErrTooLarge)
	case len(b.Owner) > job.TextMax:
		return fmt.Errorf("owner of %d bytes: at most %d bytes are allowed: %w", len(b.Owner), job.TextMax, ErrTooLarge)
	case b.Seen != nil:
		return fmt.Errorf("what the person has seen of a job is compared only by actions on one job: %w", ErrInvalid)
	}
	return nil
}

// Validate returns an error when the policy cannot be stored.
func (p *StoredPolicy) Validate() error {
	switch {
	case p.Hash == "" || len(p.Hash) > job.NameMax:
		return fmt.Errorf("policy: the hash has %d bytes: it must have 1 to %d bytes: %w", len(p.Hash), job.NameMax, ErrInvalid)
	case len(p.Name) > job.TextMax:
		return fmt.Errorf("policy %s: the name has %d bytes: at most %d bytes are allowed: %w", p.Hash, len(p.Name), job.TextMax, ErrTooLarge)
	case len(p.Body) == 0:
		return fmt.Errorf("policy %s: the policy has no body: %w", p.Hash, ErrInvalid)
	case len(p.Body) > PolicyBodyMax:
		return fmt.Errorf("policy %s: the body has %d bytes: at most %d bytes are allowed: %w", p.Hash, len(p.Body), PolicyBodyMax, ErrTooLarge)
	}
	return nil
}

package storekit

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// JoinEvent returns the event of a batch that an enqueue of n is.
func JoinEvent(n *job.New) job.BatchEvent {
	if n.Aside {
		return job.BatchJoinAside
	}
	return job.BatchJoin
}

// CheckMembers returns an error if members cannot be added to a batch, whatever its state.
func CheckMembers(b *store.Batch, members []job.New) error {
	if len(members) > job.EnqueueMax {
		return fmt.Errorf("%d members in one call: at most %d are allowed; add them in several calls: %w", len(members), job.EnqueueMax, store.ErrTooLarge)
	}
	for i := range members {
		n := MemberOf(b, &members[i])
		err := store.Validate(&n)
		if err == nil {
			err = checkMember(b, &members[i])
		}
		if err != nil {
			return fmt.Errorf("member %d of %d: %w", i+1, len(members), err)
		}
	}
	return nil
}

func checkMember(b *store.Batch, n *job.New) error {
	switch {
	case n.Batch != 0 && n.Batch != b.ID:
		return fmt.Errorf("it names batch %d, but is added to batch %d: %w", n.Batch, b.ID, store.ErrInvalid)
	case n.Owner != "" && n.Owner != b.Owner:
		return fmt.Errorf("owner %.80q: the batch has the owner %.80q, and so have its members; leave the owner out: %w", n.Owner, b.Owner, store.ErrInvalid)
	case strings.HasPrefix(n.Key, job.UniqueKey):
		return fmt.Errorf("key %.80q: the key of a member must not begin with %q: %w", n.Key, job.UniqueKey, store.ErrInvalid)
	case n.KeyUntil != 0 || n.KeyPeriod != 0:
		return fmt.Errorf("key %.80q: the key of a member is kept as long as its batch; leave its time out: %w", n.Key, store.ErrInvalid)
	}
	return nil
}

// MemberOf returns a member as it is stored: it names its batch and has the batch's owner.
func MemberOf(b *store.Batch, n *job.New) job.New {
	m := *n
	m.Batch, m.Owner = max(b.ID, 1), b.Owner
	return m
}

// CheckStart returns an error if a batch cannot be started with these members.
func CheckStart(n *store.NewBatch, members []job.New) error {
	if err := n.Validate(); err != nil {
		return err
	}
	counted := 0
	for i := range members {
		if !members[i].Aside {
			counted++
		}
	}
	if counted == 0 {
		return store.EmptyBatch(&store.Batch{AsideDrafts: int64(len(members))})
	}
	return nil
}

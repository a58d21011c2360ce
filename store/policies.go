package store

import (
	"context"

	"github.com/redrive/redrive/job"
)

// Policies keeps the policies that were in force. They are immutable, with one row per
// hash of the content. A decision names the hash, so that it can be explained from the
// text of its policy.
type Policies interface {
	// PublishPolicy keeps a policy and records that it is in force now. If another
	// policy was published before it, this writes an audit row and an event, even for a
	// policy that is already stored. Publishing the policy that is in force changes
	// nothing and is not an error.
	PublishPolicy(ctx context.Context, by By, p StoredPolicy) error
	// Policy returns a policy by its hash; ErrNotFound when it is not known.
	Policy(ctx context.Context, hash string) (StoredPolicy, error)
	// PolicyList returns the known policies without their bodies, the newest
	// first, at most PoliciesMax.
	PolicyList(ctx context.Context) ([]StoredPolicy, error)
}

// Limits on policies.
const (
	PolicyBodyMax = 1 << 20 // bytes of a policy file
	PoliciesMax   = 1_000   // policies in one list
)

// StoredPolicy is a policy as the store keeps it. The store sets At and By.
type StoredPolicy struct {
	Hash string     `json:"hash"` // hash of the content, at most job.NameMax bytes
	Name string     `json:"name"` // at most job.TextMax bytes
	At   job.Micros `json:"at"`   // when it was first published
	By   string     `json:"by"`
	Body []byte     `json:"-"` // the policy file; at most PolicyBodyMax bytes
}

package store

import (
	"context"

	"github.com/redrive/redrive/job"
)

// Policies keeps all policies that were published. A stored policy never changes; there is one
// row for each hash of the content. A decision names the hash of its policy, so that people
// can later see the text that led to the decision.
type Policies interface {
	// PublishPolicy stores a policy and makes it the current policy. If a different policy was
	// current before, PublishPolicy also writes an audit row and an event, even if the new
	// policy is already stored. Publishing the current policy again changes nothing and is not
	// an error.
	PublishPolicy(ctx context.Context, by By, p StoredPolicy) error
	// Policy returns a policy by its hash. It returns ErrNotFound when the policy is
	// not stored.
	Policy(ctx context.Context, hash string) (StoredPolicy, error)
	// PolicyList returns the stored policies without their bodies, the newest first. It
	// returns at most PoliciesMax policies.
	PolicyList(ctx context.Context) ([]StoredPolicy, error)
}

// Limits on policies.
const (
	PolicyBodyMax = 1 << 20 // maximum size of a policy file in bytes
	PoliciesMax   = 1_000   // maximum number of policies in one list
)

// StoredPolicy is a policy as the store keeps it. The store sets At and By.
type StoredPolicy struct {
	Hash string     `json:"hash"` // hash of the content, at most job.NameMax bytes
	Name string     `json:"name"` // name of the file, at most job.TextMax bytes
	At   job.Micros `json:"at"`   // when the policy was first published
	By   string     `json:"by"`
	Body []byte     `json:"-"` // content of the policy file; at most PolicyBodyMax bytes
}

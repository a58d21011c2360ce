package store

import (
	"context"

	"github.com/redrive/redrive/job"
)

// Policies keeps the policies that decided. They are immutable: one row by the
// hash of its content, so that a decision which names the hash can be explained
// by the text that made it.
type Policies interface {
	// PublishPolicy keeps a policy and notes that it is in force. When another one
	// was published last, that leaves an audit row and an event, also for a policy
	// that is known. Publishing the same one again changes nothing and is no error.
	PublishPolicy(ctx context.Context, by By, p Policy) error
	// Policy returns a policy by its hash; ErrNotFound when it is not known.
	Policy(ctx context.Context, hash string) (Policy, error)
	// PolicyList returns the policies that are known without their bodies, the
	// newest first, PoliciesMax at most.
	PolicyList(ctx context.Context) ([]Policy, error)
}

// Limits on policies.
const (
	PolicyBodyMax = 1 << 20 // bytes
	PoliciesMax   = 1_000   // of one list
)

// Policy is a policy as it is kept. The store sets At and By.
type Policy struct {
	Hash string     `json:"hash"` // of the content, at most job.NameMax bytes
	Name string     `json:"name"` // at most job.TextMax bytes
	At   job.Micros `json:"at"`   // first published
	By   string     `json:"by"`
	Body []byte     `json:"-"` // the file; at most PolicyBodyMax bytes
}

package wire

import (
	"encoding/json"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Batch is a batch for other programs.
type Batch struct {
	store.Batch
	Waiting int64           `json:"waiting"` // number of members that have not ended
	Attrs   json.RawMessage `json:"attrs,omitempty"`
}

// BatchOf returns the form of a batch.
func BatchOf(b *store.Batch) Batch { return Batch{*b, b.Waiting(), b.Attrs} }

// MemberWaits is a member that has not ended, and what it waits for.
type MemberWaits struct {
	Job      job.ID    `json:"job"`
	Key      string    `json:"key,omitempty"`
	State    job.State `json:"state"`
	Standing string    `json:"standing"`
	// Waits says why a waiting job does not run yet.
	Waits string `json:"waits,omitempty"`
}

package wire

import (
	"encoding/json"

	"github.com/redrive/redrive/internal/words"
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

// BatchExplanation says what a batch waits for.
type BatchExplanation struct {
	Batch    int64          `json:"batch"`
	State    job.BatchState `json:"state"`
	Standing string         `json:"standing"`
	// Waits are members that have not ended, with the reason why they wait: at most WaitsShown of each state.
	Waits []MemberWaits `json:"waits"`
	Next  []Step        `json:"next"` // what a person can do next
}

// WaitsShown is the number of members of each state whose reasons to wait an explanation lists.
const WaitsShown = 5

// MemberBatch is the batch of a job.
type MemberBatch struct {
	ID       int64          `json:"id"`
	Name     string         `json:"name,omitempty"`
	State    job.BatchState `json:"state"`
	Standing string         `json:"standing"`
	Aside    bool           `json:"aside,omitempty"` // the job does not count in the batch
}

// MemberBatchOf returns the batch of a job; nil if the job has none.
func MemberBatchOf(b *store.Batch, j *job.Job, now job.Micros) *MemberBatch {
	if b == nil {
		return nil
	}
	return &MemberBatch{ID: b.ID, Name: b.Name, State: b.State, Standing: words.BatchStanding(b, now), Aside: j.Aside}
}

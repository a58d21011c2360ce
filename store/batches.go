package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// Batches keeps batches: groups of jobs that end together. The states of a batch and what changes
// them are in job.BatchTransitions.
//
// A member is a job that names its batch. A member is counted, or aside if job.New.Aside is set, as
// for kinds without retry: members that are aside are neither in the total nor in the end of their
// batch. A draft is a member that is not published. It has the id of its later job, but Get does
// not find it and no worker claims it.
//
// When the last counted member of a batch has ended and no task is under way, the store writes an
// outcome: the number of the end, its state and its counts. It does so exactly once, also if members
// end at the same moment in several processes. SQLite writes it in the transaction of the last end,
// PostgreSQL within a second after it. The batch's callbacks are enqueued in the same transaction.
//
// Each call that names a batch returns an ErrNotFound if there is no such batch, or if By.Owner is
// set and the batch has another owner. A call that the batch's state does not allow returns a
// *BatchRefused.
type Batches interface {
	// CreateBatch stores a new batch in the state DRAFT. If the owner has a batch with this key
	// already, CreateBatch returns that batch, unless it was created with another name, other
	// attributes, callbacks or another ExpiresAt: then the error is an ErrConflict. By may be zero
	// for a program; only a person's batch is audited.
	CreateBatch(ctx context.Context, by By, n NewBatch) (Batch, error)
	// StartBatch creates a batch, makes jobs of its members at once and publishes it, in one
	// transaction. If the key is known, the batch is answered as by CreateBatch, and its members as
	// by AddMembers.
	StartBatch(ctx context.Context, by By, n NewBatch, members []job.New) (Batch, []job.Receipt, error)
	// AddMembers adds drafts: all or none, at most job.EnqueueMax in a call. Keys of members are
	// unique in the batch, whatever their kind. A member whose key is known is not added: its
	// receipt has the id and the state of the first one, with job.None for a draft. If that one has
	// another payload, the call fails with a *KeyConflict. A known member that was cancelled comes
	// back: the new draft takes its place when it is published. A member whose id is a draft or a
	// job of the batch already, and that has Repeat, is answered with its receipt. A member without
	// an owner gets the owner of the batch; another owner is an ErrInvalid.
	AddMembers(ctx context.Context, batch int64, members []job.New) ([]job.Receipt, error)
	// PublishBatch begins to make jobs of the batch's drafts, and to retry its counted dead members
	// whose dead letters are pending. Completed members are not touched. StepBatches does the work.
	// The answer says how much there is to do. If there is nothing to do, nothing is written.
	PublishBatch(ctx context.Context, by By, id int64) (Published, error)
	// StepBatches does one step of each batch with a task, of together at most limit members (1 to
	// StepMax), and expires batches whose time is over.
	StepBatches(ctx context.Context, limit int) (BatchStep, error)
	// Batch returns a batch with its counts. Its cost does not grow with the number of members.
	Batch(ctx context.Context, id int64) (Batch, error)
	// BatchList returns a page of batches, the newest first.
	BatchList(ctx context.Context, f BatchFilter) (BatchPage, error)
	// Members returns a page of the members of a batch with ids above after, the lowest ids first.
	Members(ctx context.Context, id int64, f MemberFilter, after job.ID) (MemberPage, error)
	// Member returns the member that holds a key.
	Member(ctx context.Context, id int64, key string) (Member, error)
	// Outcomes returns the outcomes of a batch with numbers above after, at most job.PageMax.
	Outcomes(ctx context.Context, id, after int64) ([]BatchOutcome, error)
	// CancelBatch begins to cancel the members of a batch in PROCESSING. It does nothing to a batch
	// that has ended.
	CancelBatch(ctx context.Context, by By, id int64) (Batch, error)
	// DiscardBatch throws drafts away: those with the given ids, at most job.IDsMax, or all of them if
	// ids is nil. A batch in DRAFT goes with all its drafts; then the answer is zero.
	DiscardBatch(ctx context.Context, by By, id int64, ids []job.ID) (Batch, error)
	// SetBatch changes when a batch expires. 0 removes the time.
	SetBatch(ctx context.Context, by By, id int64, expiresAt job.Micros) (Batch, error)
}

// BatchTransactor is a Transactor with batches: the calls do the same as those of Batches, but in
// the caller's transaction.
type BatchTransactor interface {
	CreateBatchTx(ctx context.Context, tx Tx, by By, n NewBatch) (Batch, error)
	AddMembersTx(ctx context.Context, tx Tx, batch int64, members []job.New) ([]job.Receipt, error)
	// PublishBatchTx also makes jobs of the first StepMax drafts. StepBatches makes the others.
	PublishBatchTx(ctx context.Context, tx Tx, by By, id int64) (Published, error)
	// BatchTx returns a batch as it is inside the transaction.
	BatchTx(ctx context.Context, tx Tx, id int64) (Batch, error)
	// RetryTx retries one dead job inside the transaction. Its batch goes back to PROCESSING in it.
	RetryTx(ctx context.Context, tx Tx, by By, id job.ID) error
}

// The limits of batches.
const (
	CallbacksMax     = 8        // callbacks of a batch
	CallbackMax      = 16 << 10 // maximum size of the payload of a callback, in bytes
	BatchExpireSteps = 500      // batches that one step expires
	MemberLook       = 20_000   // ids that one page of members examines
)

// Published is the answer of PublishBatch.
type Published struct {
	Batch  Batch `json:"batch"`
	Drafts int64 `json:"drafts"` // drafts that become jobs
	Dead   int64 `json:"dead"`   // dead members that are retried; at most PreviewMax are counted
	// Skipped is the number of dead members that are not retried, because a person has resolved
	// or ignored them.
	Skipped int64 `json:"skipped,omitempty"`
}

// BatchStep is the answer of StepBatches.
type BatchStep struct {
	Done    int64         // members that were published, retried, cancelled or discarded
	Expired int64         // batches that were expired
	Active  int           // batches that still have a task
	Wait    time.Duration // when there is something to do next: 0 at once, Never if nothing is planned
}

// BatchFilter selects batches. Zero fields select everything.
type BatchFilter struct {
	State  job.BatchState `json:"state,omitzero"`
	Owner  string         `json:"owner,omitempty"`
	Key    string         `json:"key,omitempty"`
	Name   string         `json:"name,omitempty"`   // a part of the name, compared without regard to case
	Before int64          `json:"before,omitempty"` // only batches with lower numbers; 0 means all
	Limit  int            `json:"limit,omitempty"`  // 1 to job.PageMax; 0 means 50
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (f *BatchFilter) Validate() error {
	switch {
	case f.State > job.BatchExpired:
		return fmt.Errorf("filter: state %d of a batch is unknown: %w", uint8(f.State), ErrInvalid)
	case f.Before < 0:
		return fmt.Errorf("filter: batches before %d: the number must not be negative: %w", f.Before, ErrInvalid)
	case f.Limit < 0 || f.Limit > job.PageMax:
		return fmt.Errorf("filter: page of %d batches: a page has 1 to %d: %w", f.Limit, job.PageMax, ErrInvalid)
	case len(f.Owner) > job.TextMax || len(f.Key) > job.TextMax || len(f.Name) > job.TextMax:
		return fmt.Errorf("filter: owner, key and name have at most %d bytes: %w", job.TextMax, ErrTooLarge)
	}
	return nil
}

// BatchPage is a page of batches.
type BatchPage struct {
	Batches []Batch `json:"batches"`
	Next    int64   `json:"next,omitempty"` // the value of Before for the next page; 0 means that there are no more
}

// MemberFilter selects members of a batch. Zero fields select everything.
type MemberFilter struct {
	State  job.State // only jobs in this state; None means all members
	Drafts bool      // only drafts; State is then None
	Limit  int       // 1 to job.PageMax; 0 means 50
}

// Validate returns an ErrInvalid that names the wrong field.
func (f *MemberFilter) Validate() error {
	switch {
	case f.State > job.Cancelled:
		return fmt.Errorf("members: state %d is unknown: %w", uint8(f.State), ErrInvalid)
	case f.Drafts && f.State != job.None:
		return fmt.Errorf("members: a draft is not a job and has no state %s; ask for drafts or for a state: %w", f.State, ErrInvalid)
	case f.Limit < 0 || f.Limit > job.PageMax:
		return fmt.Errorf("members: page of %d: a page has 1 to %d members: %w", f.Limit, job.PageMax, ErrInvalid)
	}
	return nil
}

// Member is a member of a batch. Its fields are those that lists of jobs have. A draft
// has the state None.
type Member struct {
	job.Job
	Replaces job.ID `json:"replaces,omitempty"` // for a draft: the cancelled job whose place it takes
}

// Draft reports whether the member is not published yet.
func (m *Member) Draft() bool { return m.State == job.None }

// MemberPage is a page of members.
type MemberPage struct {
	Members []Member
	// Next is the value of after for the next page; 0 means that there are no more. A page examines a
	// limited number of ids, so it may be short although a next page follows.
	Next job.ID
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// Marks keeps which effects outside of the store are under way, and which were done, each under a key.
// Package guard uses it.
type Marks interface {
	// ClaimMark gives a key to a holder until the end of the lease. The holder of a key extends its lease by
	// another call. While another holder has the key, the call fails with a *MarkHeld; when the effect was
	// done, with a *MarkDone.
	ClaimMark(ctx context.Context, c MarkClaim) (Mark, error)
	// EndMark says that the effect was done, or gives the key back. It fails with ErrLeaseLost if another
	// holder has got the key since, or the key was given back. A holder whose lease is over can end the mark
	// while nobody else has claimed it. A repeated call changes nothing.
	EndMark(ctx context.Context, e MarkEnd) error
}

// Limits and times of marks.
const (
	MarkLeaseMax  = time.Hour           // longest lease of a mark
	MarkAbandoned = 30 * 24 * time.Hour // a mark that nobody has ended is removed so long after the end of its lease
	MarksRemoved  = 2                   // a call of EndMark removes at most so many marks that are to be forgotten
)

// Mark says who has a key, or that its effect was done.
type Mark struct {
	Key      string     `json:"key"`
	Holder   string     `json:"holder"`
	Token    int64      `json:"token"`               // counts the holders
	Until    job.Micros `json:"until"`               // the end of the lease
	DoneAt   job.Micros `json:"done_at,omitempty"`   // when the effect was done; 0 means not yet
	ForgetAt job.Micros `json:"forget_at,omitempty"` // from when on the mark counts no more, and can be removed; 0 means never
	Job      job.ID     `json:"job,omitempty"`       // the job that has claimed it; 0 for none
	Summary  string     `json:"summary,omitempty"`   // the result in short
}

// MarkClaim claims a key.
type MarkClaim struct {
	Key    string        // 1 to job.TextMax bytes
	Holder string        // 1 to job.TextMax bytes; no other call for another effect may have the same
	Lease  time.Duration // at most MarkLeaseMax
	Job    job.ID        // the job for which the key is claimed; 0 for none
}

// MarkEnd ends the mark of a holder.
type MarkEnd struct {
	Key, Holder string
	Token       int64
	Done        bool          // false gives the key back: the effect was not done
	Summary     string        // at most job.SummaryMax bytes
	Keep        time.Duration // for how long a done mark counts; 0 means for ever
}

// MarkHeld says that another holder has a key. It matches ErrConflict.
type MarkHeld struct{ Mark Mark }

func (e *MarkHeld) Error() string {
	return fmt.Sprintf("key %q: %q holds it until %s", e.Mark.Key, e.Mark.Holder, e.Mark.Until.Time().Format(time.RFC3339))
}

// Is reports that a MarkHeld matches ErrConflict.
func (e *MarkHeld) Is(target error) bool { return target == ErrConflict }

// MarkDone says that the effect of a key was done. It matches ErrConflict.
type MarkDone struct{ Mark Mark }

func (e *MarkDone) Error() string {
	return fmt.Sprintf("key %q: it was done at %s", e.Mark.Key, e.Mark.DoneAt.Time().Format(time.RFC3339))
}

// Is reports that a MarkDone matches ErrConflict.
func (e *MarkDone) Is(target error) bool { return target == ErrConflict }

// Validate returns an ErrInvalid or ErrTooLarge that names what is wrong, or nil.
func (c *MarkClaim) Validate() error {
	if err := validMark(c.Key, c.Holder); err != nil {
		return err
	}
	if c.Lease <= 0 || c.Lease > MarkLeaseMax {
		return fmt.Errorf("key %q: lease of %s: must be above 0 and at most %s: %w", c.Key, c.Lease, MarkLeaseMax, ErrInvalid)
	}
	return nil
}

// Validate returns an ErrInvalid or ErrTooLarge that names what is wrong, or nil.
func (e *MarkEnd) Validate() error {
	if err := validMark(e.Key, e.Holder); err != nil {
		return err
	}
	switch {
	case e.Keep < 0:
		return fmt.Errorf("key %q: it is kept for %s: must not be below 0: %w", e.Key, e.Keep, ErrInvalid)
	case len(e.Summary) > job.SummaryMax:
		return fmt.Errorf("key %q: summary of %d bytes: at most %d bytes are allowed: %w", e.Key, len(e.Summary), job.SummaryMax, ErrTooLarge)
	}
	return nil
}

func validMark(key, holder string) error {
	for _, t := range [...]struct{ field, value string }{{"key", key}, {"holder", holder}} {
		if t.value == "" {
			return fmt.Errorf("the %s of a mark is empty: %w", t.field, ErrInvalid)
		}
		if len(t.value) > job.TextMax {
			return fmt.Errorf("%s of %d bytes: at most %d bytes are allowed: %w", t.field, len(t.value), job.TextMax, ErrTooLarge)
		}
	}
	return nil
}

// Claim returns the mark after a claim, or a *MarkHeld or *MarkDone. now is the store's time. A mark that
// does not exist is one with nothing but its key.
func (m *Mark) Claim(c *MarkClaim, now job.Micros) (Mark, error) {
	claimed := *m
	switch {
	case m.DoneAt != 0 && (m.ForgetAt == 0 || m.ForgetAt > now):
		return claimed, &MarkDone{*m}
	case m.DoneAt == 0 && m.Holder == c.Holder && m.Token > 0:
	case m.DoneAt == 0 && m.Until > now:
		return claimed, &MarkHeld{*m}
	default:
		claimed = Mark{Key: c.Key, Holder: c.Holder, Token: m.Token + 1}
	}
	claimed.Job, claimed.Until = c.Job, now.Add(c.Lease)
	claimed.ForgetAt = claimed.Until.Add(MarkAbandoned)
	return claimed, nil
}

// End returns the mark after its end, or an ErrLeaseLost. A mark that was given back is one without a
// holder: it is removed. now is the store's time.
func (m *Mark) End(e *MarkEnd, now job.Micros) (Mark, error) {
	ended := *m
	switch {
	case m.Holder != e.Holder || m.Token != e.Token:
		return ended, fmt.Errorf("key %q: %w", e.Key, ErrLeaseLost)
	case m.DoneAt != 0:
		return ended, nil // the call is repeated
	case !e.Done:
		return Mark{Key: e.Key}, nil
	}
	ended.DoneAt, ended.Summary, ended.ForgetAt = now, e.Summary, 0
	if e.Keep > 0 {
		ended.ForgetAt = now.Add(e.Keep)
	}
	return ended, nil
}

package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
)

// Notices keeps the rules of notifications and obeys them: each transaction that writes a death or
// the outcome of a batch makes the notices that follow from it. A notice is a job in the
// queue notify.Queue, with an idempotency key for its cause and its recipient. Package notify decides
// which notices follow. Without rules, no notice is made, and nothing is read or written for them.
type Notices interface {
	// PublishNotify puts rules in force, for all processes of the store. The body is the canonical
	// form that notify.Rules.Encode returns; nil takes all rules back. The rules in force are published
	// again without effect; any other body gets the next number and writes an audit row and an event.
	// The answer are the rules in force.
	PublishNotify(ctx context.Context, by By, body []byte) (NotifyRules, error)
	// NotifyRules returns the rules in force. If rules were never published, the number is 0.
	NotifyRules(ctx context.Context) (NotifyRules, error)
	// CloseWindows ends at most limit (1 to StepMax) windows that are due, and makes the notices of what
	// waits in them.
	CloseWindows(ctx context.Context, limit int) (WindowStep, error)
}

// NotifyRules are rules of notifications as the store keeps them.
type NotifyRules struct {
	Number int64      `json:"number"` // from 1, without gaps; 0 means no rules
	Hash   string     `json:"hash"`   // of the body; "" if rules were taken back
	At     job.Micros `json:"at,omitzero"`
	By     string     `json:"by,omitempty"`
	Body   []byte     `json:"-"` // the canonical form; nil if there are no rules
}

// Set returns the rules in the form that decides about notices; nil without rules.
func (r *NotifyRules) Set() (*notify.Set, error) {
	if len(r.Body) == 0 {
		return nil, nil
	}
	rules, err := notify.Decode(r.Body)
	if err != nil {
		return nil, fmt.Errorf("the stored rules of notifications %d: %w", r.Number, err)
	}
	return notify.NewSet(rules), nil
}

// Target returns how audit rows name the rules.
func (r *NotifyRules) Target() string {
	if r.Hash == "" {
		return "off"
	}
	return r.Hash
}

// ValidNotify returns the hash of rules, or an ErrInvalid.
func ValidNotify(body []byte) (hash string, err error) {
	if len(body) == 0 {
		return "", nil
	}
	rules, err := notify.Decode(body)
	if err != nil {
		return "", fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	canonical, hash := rules.Encode()
	if string(canonical) != string(body) {
		return "", fmt.Errorf("the rules of notifications are not in their canonical form: publish what Rules.Encode returns: %w", ErrInvalid)
	}
	return hash, nil
}

// WindowStep is what one call of CloseWindows has done.
type WindowStep struct {
	Closed  int           // number of windows that were due
	Notices int           // number of notices that were made
	Wait    time.Duration // time until the next window is due; Never if no window is open
}

// BatchHeard returns what rules and notices need of a batch.
func BatchHeard(b *Batch, on notify.Event, at job.Micros) notify.Outcome {
	return notify.Outcome{Batch: b.ID, Number: b.Outcome, On: on, Owner: b.Owner, Key: b.Key, Name: b.Name, State: b.State.String(), Attrs: b.Attrs,
		Total: b.Total, Completed: b.Completed, Dead: b.Dead, Cancelled: b.Cancelled, At: at}
}

// OutcomeHeard returns the event of a batch in its present state; "" for a state of which nobody hears.
func OutcomeHeard(state job.BatchState) notify.Event {
	switch state {
	case job.BatchReady:
		return notify.BatchReady
	case job.BatchPartial:
		return notify.BatchPartial
	case job.BatchFailed:
		return notify.BatchFailed
	case job.BatchExpired:
		return notify.BatchExpired
	case job.BatchNone, job.BatchDraft, job.BatchProcessing:
	}
	return ""
}

// StoppedNotices returns the notices that a redrive was stopped by itself.
func StoppedNotices(rules *notify.Set, r *Redrive) []notify.Notice {
	return rules.Stopped(r.ID, notify.RedriveFacts{By: r.By, Reason: r.Reason, Why: r.Why, Total: r.Total, Released: r.Released, Completed: r.Completed,
		Dead: r.Dead, Cancelled: r.Cancelled}, r.EndedAt)
}

// DeadNow are the facts of a death that are the same in every store.
func DeadNow(f *job.Failure, d notify.Death) notify.Death {
	if f != nil {
		// The record of the decision names the setting "retry: false" as its rule.
		d.NoRetry = bytes.Contains(f.Decision, []byte(`"policy.no_retry"`))
		d.Class, d.Code, d.Group, d.Message, d.UserMessage, d.HoldNotify = f.Class, f.Code, f.Fingerprint, f.Message, f.UserMessage, job.HoldNotify(f)
	}
	return d
}

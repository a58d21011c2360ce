package failure

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/plaintext"
)

// SnoozeMin is the shortest snooze; shorter ones count as this long.
const SnoozeMin = time.Millisecond

// mark is what each error of this file is: one that says something about the
// failure that it wraps, see Evidence.read.
type mark interface {
	error
	note(e *Evidence)
}

var _ = [...]mark{(*permanent)(nil), (*retryAfter)(nil), (*coded)(nil), (*classed)(nil), (*dependencyDown)(nil), (*handOver)(nil), snooze(0), cancel("")}

// wrap is what all marks on another error have in common: its text and the way
// to it, so that errors.Is and errors.As reach the cause. Marks are pointers:
// comparing two that hold incomparable errors would panic.
type wrap struct{ error }

func (w wrap) Unwrap() error { return w.error }

// Permanent marks err as one that no later attempt can mend: the job is dead at
// once. It says nothing about the class, which selects the text for users:
// combine it with WithClass. Permanent(nil) is nil, as with every mark.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{wrap{err}}
}

type permanent struct{ wrap }

func (*permanent) note(e *Evidence) { e.Permanent = true }

// Refuse marks err as that of a record which cannot become its task, such as one that is not JSON. It
// is Permanent. The word becomes the reason of the dead letter if it is one of job.Malformed,
// job.UnknownType and job.KeyConflict.
func Refuse(word string, err error) error {
	if err == nil {
		return nil
	}
	return &refused{wrap{err}, word}
}

type refused struct {
	wrap
	word string
}

func (r *refused) note(e *Evidence) { e.Permanent, e.Refused = true, r.word }

// RetryAfter marks err with the shortest wait that the other side has asked
// for. It is a floor under the wait that the policy chooses, never shortened;
// of several the longest counts. Whatever the text of err says, a later attempt
// can succeed: a class that must not be retried is replaced by
// RateLimitExceeded, unless another mark names it. A d of zero or less asks for
// no wait and marks nothing.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryAfter{wrap{err}, d}
}

type retryAfter struct {
	wrap
	after time.Duration
}

func (r *retryAfter) note(e *Evidence) {
	e.RetryAfter = max(e.RetryAfter, r.after)
	e.RetryMark = e.RetryMark || r.after > 0
}

// Code gives err a machine code, such as "FFMPEG_TIMEOUT", and details as keys
// and values the way log/slog takes them: "url", u, "clip", 3, or slog.Attr.
// Of several codes the outermost counts; details of all are kept, those of the
// outermost first. A code has at most CodeMax bytes; details have at most
// DetailsMax, and 64 attributes, those in groups included.
func Code(code string, err error, details ...any) error {
	if err == nil {
		return nil
	}
	return &coded{wrap{err}, code, details}
}

type coded struct {
	wrap
	code    string
	details []any
}

func (c *coded) note(e *Evidence) {
	if e.Code == "" {
		e.Code = plaintext.Clip(c.code, CodeMax)
	}
	e.details = append(e.details, c.details...)
}

// WithClass puts err into a class, whatever else speaks for another one. Of
// several classes the outermost counts. A class has at most CodeMax bytes. A
// class that neither redrive nor the policy knows gets the settings of the
// policy's default and the texts of UnknownError; the client logs it.
func WithClass(class Class, err error) error {
	if err == nil {
		return nil
	}
	return &classed{wrap{err}, class}
}

type classed struct {
	wrap
	class Class
}

func (c *classed) note(e *Evidence) {
	if e.Class == "" {
		e.Class = Class(plaintext.Clip(string(c.class), CodeMax))
	}
}

// DependencyDown marks err as caused by an outside service, named by its key
// (at most CodeMax bytes), that is down altogether: not the fault of this job.
func DependencyDown(key string, err error) error {
	if err == nil {
		return nil
	}
	return &dependencyDown{wrap{err}, key}
}

type dependencyDown struct {
	wrap
	key string
}

func (d *dependencyDown) note(e *Evidence) {
	if e.Dependency == "" {
		e.Dependency = plaintext.Clip(d.key, CodeMax)
	}
}

// HandOver marks err as that of a call which has done what waiting in memory could
// do, and hands its job over to the queue: the job is due again after d, and used
// up no attempt, as often as the policy allows it; after that err is a failure like
// any other. The reason goes before the text of err. Of several the longest wait
// counts. A d below SnoozeMin counts as that.
func HandOver(d time.Duration, reason string, err error) error {
	if err == nil {
		return nil
	}
	return &handOver{wrap{err}, max(d, SnoozeMin), reason}
}

type handOver struct {
	wrap
	after  time.Duration
	reason string
}

// Error returns the reason and the text of what it wraps.
func (h *handOver) Error() string {
	if h.reason == "" {
		return h.error.Error()
	}
	return h.reason + ": " + h.error.Error()
}

func (h *handOver) note(e *Evidence) { e.HandOver = max(e.HandOver, h.after) }

// Snooze returns an error that is no failure: the job asks to run again after d
// (SnoozeMin at least) and burns no attempt. Of several the longest counts.
func Snooze(d time.Duration) error { return snooze(max(d, SnoozeMin)) }

type snooze time.Duration

func (s snooze) Error() string    { return fmt.Sprintf("snoozed for %s", time.Duration(s)) }
func (s snooze) note(e *Evidence) { e.Snooze = max(e.Snooze, time.Duration(s)) }

// Cancel returns an error by which a handler cancels its own job: it is neither
// done nor failed, and will not run again. The reason is kept with the job.
func Cancel(reason string) error { return cancel(Message(reason)) }

type cancel string

func (c cancel) Error() string {
	if c == "" {
		return "cancelled by its handler"
	}
	return string(c)
}

func (cancel) note(e *Evidence) { e.Cancel = true }

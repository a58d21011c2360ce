package retry

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// The defaults of Options.
const (
	RetriesDefault        = 3
	BaseDefault           = time.Second      // of the exponential back-off
	CapDefault            = 10 * time.Second // likewise
	HintCapDefault        = 10 * time.Second
	HandOverDefault       = 300 * time.Second
	HandOverJitterDefault = 30 * time.Second
	HandOverCapDefault    = 24 * time.Hour
	RetriesMax            = 1000 // the most that a strategy may ask for
)

// None switches off what is on by default: Options.Retries, HandOver,
// HandOverJitter.
const None = -1

// Options are what a strategy is made of. The zero value of every field is its
// default; None is nothing.
type Options struct {
	// Operation names the call in errors, log lines and counters; default the name
	// of the strategy.
	Operation string
	// Dependency names what is called. A call inside another one of the same
	// dependency runs once, because the outer one retries. Default the name of
	// the strategy.
	Dependency string

	// Retries is how often the call is sent again; default RetriesDefault.
	Retries int
	// Backoff is the wait before each retry; default U(0, min(CapDefault,
	// BaseDefault × 2^(n−1))). One that grows must have a cap.
	Backoff backoff.Backoff
	// Immediate allows a back-off that never waits.
	Immediate bool

	// AttemptTimeout ends the context of each attempt; default no limit. What the
	// operation returns must not need this context any more.
	AttemptTimeout time.Duration
	// MaxElapsed bounds the whole call, attempts included: no retry begins that
	// could not end before. Default no bound but those of retries and waits.
	MaxElapsed time.Duration
	// MinUseful is the least time that an attempt needs: with less left before a
	// limit, none begins. Default the shortest attempt so far.
	MinUseful time.Duration
	// Lease, if it is not zero, is the time in which a call must be over: New
	// refuses limits and waits that can take longer, and no AttemptTimeout. It takes an
	// operation that heeds its context.
	Lease time.Duration

	// HintCap is the longest wait that the other side may ask for and that is
	// slept; default HintCapDefault, or the cap of the back-off where that is longer.
	HintCap time.Duration
	// CutHints cuts a hint to HintCap instead: the wait is max(back-off, min(hint,
	// HintCap)), after which the call may come too early.
	CutHints bool
	// HandOver is when a job is due again whose call has run out of retries;
	// default HandOverDefault, and up to HandOverJitter more. A longer hint counts
	// instead, up to HandOverCap. None never hands over.
	HandOver       time.Duration
	HandOverJitter time.Duration
	HandOverCap    time.Duration

	// Judge, if it is not nil, judges before the classifier does; the zero Judgement
	// leaves it to that one. It is not asked about what ends a call anyway: a call
	// within that has run out of retries, Stop, and the marks Permanent, Cancel, Snooze
	// and HandOver. NotIdempotent holds for what it says, too.
	Judge func(ctx context.Context, err error) Judgement
	// Classifier puts errors into classes; default failure.Builtin.
	Classifier *failure.Classifier
	// Statuses and Classes replace verdicts; a status before a class. They do not
	// overrule marks of the operation.
	Statuses map[int]failure.Verdict
	Classes  map[failure.Class]failure.Verdict
	// RetryUnknown retries errors of which nothing is known. By default they end
	// the call.
	RetryUnknown bool
	// NotIdempotent retries only what the other side has not received, or has turned
	// away: with the status 429 or RESOURCE_EXHAUSTED, or, where there is no status, by
	// a class that is throttled and that failure.WithClass or Judge says. Sending twice
	// does harm.
	NotIdempotent bool

	// Keyed gives every call an idempotency key, see Call.Key, outside a job too.
	Keyed bool

	Logger *slog.Logger   // default that of the job, else slog.Default
	Hooks  Hooks          // called at the points of a call
	Clock  Clock          // default the system's; for tests
	Rand   func() float64 // uniform draws from [0, 1); safe for concurrent use; for tests
}

// Judgement is what Options.Judge says about a failure.
type Judgement struct {
	Class   failure.Class
	Verdict failure.Verdict // "" is no judgement
	// Hint is the wait that the other side asks for. A longer one that the error
	// carries, in a mark or a type, counts instead; a negative Hint drops that.
	Hint time.Duration
}

// Hooks are called by the goroutine of the call, in its way; nil is none.
type Hooks struct {
	Send  func(ctx context.Context, c Call)   // before each attempt; ctx is that of the attempt
	Retry func(ctx context.Context, e *Event) // before each wait
	End   func(ctx context.Context, e *Event) // once, however the call ends
}

// Strategy says how a call is retried. It is immutable and safe for concurrent use.
type Strategy struct {
	name     string
	o        Options // effective
	from     map[string]string
	curve    *backoff.Backoff
	retries  int
	fast     bool // an attempt needs nothing that a success would have to pay for
	counters *counters
}

// New returns a strategy, or every mistake in one error, each with its name, its
// bound and the cure.
func New(name string, o Options) (*Strategy, error) {
	return build(name, o, sourcesOf(&o, fromOptions))
}

func build(name string, o Options, from map[string]string) (*Strategy, error) {
	o.Statuses, o.Classes = maps.Clone(o.Statuses), maps.Clone(o.Classes)
	o.Backoff.Waits = append([]time.Duration(nil), o.Backoff.Waits...)
	o.setDefaults(name)
	if errs := o.check(name); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p := &Strategy{name: name, o: o, from: from, counters: &counters{}}
	p.curve, p.retries = &p.o.Backoff, max(o.Retries, 0)
	p.fast = o.AttemptTimeout == 0 && o.MaxElapsed == 0 && o.MinUseful == 0 && !o.Keyed && o.Hooks.Send == nil && o.Hooks.End == nil
	return p, nil
}

// With returns the strategy with a change. Counters are shared as long as the
// operation is the same.
func (p *Strategy) With(change func(*Options)) (*Strategy, error) {
	o := p.Options()
	before := p.Options() // of its own: a change may write into the maps
	o.Logger, o.Rand, o.Clock = p.o.Logger, p.o.Rand, p.o.Clock
	change(&o)
	from := maps.Clone(p.from)
	for _, f := range fields {
		if f.text(&o) != f.text(&before) {
			from[f.name] = fromOptions
		}
	}
	q, err := build(p.name, o, from)
	if err == nil && q.o.Operation == p.o.Operation {
		q.counters = p.counters
	}
	return q, err
}

// Name returns the name that the strategy was made with.
func (p *Strategy) Name() string { return p.name }

// Options returns the effective options. They may be changed.
func (p *Strategy) Options() Options {
	o := p.o
	o.Statuses, o.Classes = maps.Clone(o.Statuses), maps.Clone(o.Classes)
	o.Backoff.Waits = append([]time.Duration(nil), o.Backoff.Waits...)
	return o
}

func (o *Options) setDefaults(name string) {
	or(&o.Operation, name)
	or(&o.Dependency, name)
	or(&o.Retries, RetriesDefault)
	if isZero(&o.Backoff) && !o.Immediate {
		o.Backoff = backoff.Backoff{Formula: backoff.Exponential, First: BaseDefault, Cap: CapDefault, Jitter: backoff.Full}
	} else if isZero(&o.Backoff) {
		o.Backoff = backoff.Backoff{Waits: []time.Duration{0}}
	}
	or(&o.HintCap, max(HintCapDefault, o.Backoff.Cap))
	or(&o.HandOver, HandOverDefault)
	or(&o.HandOverJitter, HandOverJitterDefault)
	or(&o.HandOverCap, HandOverCapDefault)
	if o.Classifier == nil {
		o.Classifier = failure.Builtin()
	}
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.Rand == nil {
		o.Rand = draw
	}
}

func or[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

func isZero(b *backoff.Backoff) bool {
	return b.Formula == backoff.Fixed && len(b.Waits) == 0 && b.First == 0 && b.Cap == 0 && b.Floor == 0 && b.Jitter == backoff.None
}

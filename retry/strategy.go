package retry

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// The defaults of Options.
const (
	RetriesDefault        = 3
	BaseDefault           = time.Second      // the first wait of the default back-off
	CapDefault            = 10 * time.Second // the cap of the default back-off
	HintCapDefault        = 10 * time.Second
	HandOverDefault       = 300 * time.Second
	HandOverJitterDefault = 30 * time.Second
	HandOverCapDefault    = 24 * time.Hour
	RetriesMax            = 1000 // the highest number of retries that a strategy may have
)

// None switches off Options.Retries, HandOver and HandOverJitter. The value 0 means the
// default of these options.
const None = -1

// Options configure a strategy. The zero value of every field is its default; for fields
// that allow None, None means zero.
type Options struct {
	// Operation names the call in errors, log lines and counters; default the name
	// of the strategy.
	Operation string
	// Dependency names the service that is called. A call inside another call of the same
	// dependency runs once, because the outer call retries. The default is the name of the
	// strategy.
	Dependency string

	// Retries is the highest number of retries of a call; default RetriesDefault.
	Retries int
	// Backoff is the wait before each retry; default U(0, min(CapDefault, BaseDefault ×
	// 2^(n−1))). A growing back-off must have a cap.
	Backoff backoff.Backoff
	// Immediate allows a back-off that never waits.
	Immediate bool

	// AttemptTimeout ends the context of each attempt; default no limit. The result of
	// the operation must not need this context any more.
	AttemptTimeout time.Duration
	// MaxElapsed limits the whole call, including all attempts: a retry begins only if it
	// can end within MaxElapsed. By default only the number of retries and their waits limit
	// a call.
	MaxElapsed time.Duration
	// MinUseful is the shortest time that an attempt needs. If less time is left before a
	// limit, no attempt begins. The default is the duration of the shortest attempt so far.
	MinUseful time.Duration
	// Lease, if not zero, is the time within which a call must end: New refuses limits
	// and waits that could take longer, and requires AttemptTimeout. The operation must
	// end with its context.
	Lease time.Duration

	// HintCap is the longest hint (a wait that the other side asks for) that a call
	// sleeps; default HintCapDefault, or the cap of the back-off if that is longer.
	HintCap time.Duration
	// CutHints cuts a hint to HintCap: the wait is max(back-off, min(hint, HintCap)).
	// The next attempt may then come too early.
	CutHints bool
	// HandOver is the wait until a job is due again when its call has run out of
	// retries; default HandOverDefault. A random time of at most HandOverJitter is added.
	// A longer hint replaces HandOver if it is at most HandOverCap. With None the job is
	// never handed over.
	HandOver       time.Duration
	HandOverJitter time.Duration
	HandOverCap    time.Duration

	// Judge, if not nil, decides about errors before the classifier does; the zero
	// Judgement leaves the decision to the classifier. It is not called for errors that
	// end a call anyway: an inner call that has run out of retries, Stop, and the marks
	// Permanent, Cancel, Snooze and HandOver. NotIdempotent also applies to its
	// decisions.
	Judge func(ctx context.Context, err error) Judgement
	// Classifier gives errors their classes; default classify.Builtin.
	Classifier *classify.Classifier
	// Statuses and Classes replace verdicts; a status takes precedence over a class.
	// They do not override marks of the operation.
	Statuses map[int]failure.Verdict
	Classes  map[failure.Class]failure.Verdict
	// RetryUnknown retries unknown errors. By default they end the call.
	RetryUnknown bool
	// NotIdempotent says that sending twice does harm. A request is then retried only if
	// the other side has not received it or has rejected it. A rejection is the status 429
	// or RESOURCE_EXHAUSTED or, without a status, a throttled class that failure.WithClass
	// or Options.Judge sets.
	NotIdempotent bool

	// Keyed gives every call an idempotency key, see Call.Key, even outside a job.
	Keyed bool

	Logger *slog.Logger   // the logger; default the job's logger, else slog.Default
	Hooks  Hooks          // functions that are called during a call of the strategy
	Clock  Clock          // the clock; default the system's clock; tests set it
	Rand   func() float64 // a function that returns uniform random numbers in [0, 1); must be safe for concurrent use; tests set it
}

// Judgement is the decision of Options.Judge about an error.
type Judgement struct {
	Class   failure.Class
	Verdict failure.Verdict // the verdict for the error; "" means no decision
	// Hint is the wait that the other side asked for. If the error itself has a longer hint,
	// by a mark or a type, that longer hint is used. A negative Hint removes the hint of the
	// error.
	Hint time.Duration
}

// Hooks are called synchronously by the goroutine of the call; nil functions are
// skipped.
type Hooks struct {
	Send  func(ctx context.Context, c Call)   // called before each attempt, with the attempt's context
	Retry func(ctx context.Context, e *Event) // called before each wait
	End   func(ctx context.Context, e *Event) // called once at the end of each call
}

// Strategy says how a call is retried. It is immutable and safe for concurrent use.
type Strategy struct {
	name     string
	o        Options // the effective options
	from     map[string]string
	curve    *backoff.Backoff
	retries  int
	fast     bool // whether a first attempt can run without a frame and without reading the clock
	counters *counters
}

// New returns a strategy, or all mistakes in one error. Each mistake names the option, what
// is allowed and how to correct it.
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

// With returns a changed copy of the strategy. The copy shares its counters with the
// original if the operation is the same.
func (p *Strategy) With(change func(*Options)) (*Strategy, error) {
	o := p.Options()
	before := p.Options() // a copy, because the change may write into the maps
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

// Options returns a copy of the effective options, which may be changed.
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
		o.Classifier = classify.Builtin()
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

// Within reports whether a call of p with the context ctx would be part of an outer call of the
// same dependency. The outer call then does the retrying, and the call of p is made only once.
// The first result is its idempotency key: the key of WithKey or, without one, the key of the
// outer call. It is the same in all attempts of the outer call, and "" if there is no key.
func (p *Strategy) Within(ctx context.Context) (key string, ok bool) {
	var around *frame // only the outermost call retries: the calls within it are made once
	for f := frameOf(ctx); f != nil; f = f.up {
		if f.strategy != nil && f.strategy.o.Dependency == p.o.Dependency {
			around = f
		}
	}
	if around == nil {
		return "", false
	}
	for f := frameOf(ctx); f != around; f = f.up {
		if f.key != "" { // this key was set with WithKey; a key that an inner call makes differs in each attempt
			return f.key, true
		}
	}
	return around.keyed(), true
}

package redrive_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

func TestSpec_ErrIsThereAtOnce(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]redrive.Spec{
		"arguments":  redrive.Kind[chan int]("c").New(nil, nil),
		"attributes": render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"f": func() {}}}),
		"priority":   render.New(renderArgs{}, &redrive.Options{Priority: 9}),
		"override":   render.New(renderArgs{}, &redrive.Options{Override: &policy.Override{MaxRetries: new(-1)}}),
		"not JSON":   render.New(renderArgs{}, nil).WithPayload([]byte("{")),
		"not JSON, with other options afterwards": render.New(renderArgs{}, nil).WithPayload([]byte("{")).WithOptions(redrive.Options{}),
	} {
		if s.Err() == nil || s.Kind() == "" {
			t.Errorf("%s: got error %v and kind %q, want an error and the name of the kind", name, s.Err(), s.Kind())
		}
	}
	if err := render.New(renderArgs{}, nil).Err(); err != nil {
		t.Error(err)
	}
	if s := redrive.Kind[chan int]("c").New(nil, nil); s.WithOptions(redrive.Options{}).Err() == nil {
		t.Error("WithOptions removed the error of the arguments, want it kept")
	}
	if s := redrive.NewRaw("raw", nil, nil).WithPayload([]byte("{")); s.Err() != nil {
		t.Errorf("a raw job whose payload is not JSON: got error %v, want none", s.Err())
	}
}

func TestSpec_ValidateChecksWhatEveryStoreChecks(t *testing.T) {
	t.Parallel()
	if err := render.New(renderArgs{}, nil).Validate(); err != nil {
		t.Errorf("Validate of a job without mistakes: got error %v, want none", err)
	}
	long := strings.Repeat("x", job.TextMax+1)
	for name, tt := range map[string]struct {
		spec redrive.Spec
		want error
	}{
		"kind":     {redrive.NewRaw("with space", nil, nil), redrive.ErrInvalid},
		"queue":    {redrive.NewRaw("k", nil, &redrive.Options{Queue: "a b"}), redrive.ErrInvalid},
		"owner":    {redrive.NewRaw("k", nil, &redrive.Options{Owner: long}), redrive.ErrTooLarge},
		"deadline": {redrive.NewRaw("k", nil, &redrive.Options{Deadline: time.Unix(-1, 0)}), redrive.ErrInvalid},
		"not JSON": {render.New(renderArgs{}, nil).WithPayload([]byte("{")), redrive.ErrInvalid},
	} {
		if err := tt.spec.Validate(); !errors.Is(err, tt.want) {
			t.Errorf("Validate of a job with a wrong %s: got error %v, want %v", name, err, tt.want)
		}
	}
}

func TestSpec_OptionsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	given := redrive.Options{
		Queue: "q", Priority: 3, RunAt: time.Unix(7, 0).UTC(), Deadline: time.Unix(8, 0).UTC(), Key: "k", KeyUntil: time.Unix(9, 0).UTC(),
		Owner: "ann", Correlation: "c", Attrs: map[string]any{"n": json.Number("12345678901234567890"), "s": "x"}, Batch: 5, KeyJSON: true,
		MaxAttempts: 3, Override: &policy.Override{MaxRetries: new(2)},
	}
	s := render.New(renderArgs{Scene: 7}, &given)
	if diff := cmp.Diff(given, s.Options()); diff != "" {
		t.Errorf("the spec has other options than those given (-given +got):\n%s", diff)
	}
	if again := s.WithOptions(s.Options()); !cmp.Equal(s.Options(), again.Options()) || string(again.Payload()) != string(s.Payload()) {
		t.Errorf("WithOptions with the same options changed the job, want no change; got the options %+v", again.Options())
	}
	want := redrive.Options{Queue: redrive.DefaultQueue, Priority: job.PriorityDefault, Attrs: map[string]any{}}
	if diff := cmp.Diff(want, render.New(renderArgs{}, nil).Options()); diff != "" {
		t.Errorf("wrong default options (-want +got):\n%s", diff)
	}
}

// A middleware can set MaxAttempts of a job. It does not matter how the job got its earlier
// number of attempts: from MaxAttempts, from Override.MaxAttempts, from both, or from neither.
func TestSpec_MaxAttemptsCanBeChanged(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]redrive.Options{
		"none":             {},
		"in the options":   {MaxAttempts: 3},
		"in the override":  {Override: &policy.Override{MaxAttempts: new(3)}},
		"in both":          {MaxAttempts: 3, Override: &policy.Override{MaxAttempts: new(3)}},
		"with other terms": {MaxAttempts: 3, Override: &policy.Override{MaxCost: new(int64(7))}},
	} {
		o := render.New(renderArgs{}, &given).Options()
		o.MaxAttempts = 5
		s := render.New(renderArgs{}, &given).WithOptions(o)
		if err := s.Err(); err != nil {
			t.Errorf("MaxAttempts given %s, and set to 5: got error %v, want none", name, err)
		}
		if n := s.Options().MaxAttempts; n != 5 {
			t.Errorf("MaxAttempts given %s, and set to 5: got %d attempts, want 5", name, n)
		}
	}
	// Without Options.MaxAttempts, an Override may contain more retries than its MaxAttempts
	// allows. Such options are kept unchanged.
	given := redrive.Options{Override: &policy.Override{MaxAttempts: new(3), MaxRetries: new(9)}}
	s := render.New(renderArgs{}, &given)
	if o := s.Options(); o.MaxAttempts != 0 || !cmp.Equal(o.Override, given.Override) || s.WithOptions(o).Err() != nil {
		t.Errorf("got MaxAttempts %d and the override %+v (error of WithOptions with them: %v), want MaxAttempts 0, the override as given, and no error",
			o.MaxAttempts, o.Override, s.WithOptions(o).Err())
	}
}

// Err no longer returns a mistake in the payload after WithPayload has set another payload, nor a
// mistake in the options after WithOptions has set other options.
func TestSpec_AMistakeEndsWithItsCause(t *testing.T) {
	t.Parallel()
	bad, good := []byte("x"), []byte(`{"scene":7}`)
	wrong := redrive.Options{Priority: 9}
	channel := redrive.Kind[chan int]("render").New(nil, &redrive.Options{Owner: "ann"})
	for _, tt := range []struct {
		name string
		spec redrive.Spec
		want string // a part of the error; "" means no error
	}{
		{"bad payload", render.New(renderArgs{}, nil).WithPayload(bad), "the 1 bytes are not JSON"},
		{"bad payload, then a good one", render.New(renderArgs{}, nil).WithPayload(bad).WithPayload(good), ""},
		{"bad payload, then other options", render.New(renderArgs{}, nil).WithPayload(bad).WithOptions(redrive.Options{}), "the 1 bytes are not JSON"},
		{"bad payload, other options, good payload", render.New(renderArgs{}, nil).WithPayload(bad).WithOptions(redrive.Options{}).WithPayload(good), ""},
		{"bad options, then another payload", render.New(renderArgs{}, &wrong).WithPayload(good), "priority 9"},
		{"bad options, bad and good payload", render.New(renderArgs{}, &wrong).WithPayload(bad).WithPayload(good), "priority 9"},
		{"bad options, then good ones", render.New(renderArgs{}, &wrong).WithOptions(redrive.Options{}), ""},
		{"arguments without a JSON form", channel, "encode the arguments"},
		{"arguments without a JSON form, then a payload", channel.WithPayload(good), ""},
	} {
		err := tt.spec.Err()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want an error with the text %q (or none for an empty text)", tt.name, err, tt.want)
		}
		if err != nil && !errors.Is(err, redrive.ErrInvalid) {
			t.Errorf("%s: got error %v, want an ErrInvalid", tt.name, err)
		}
	}
	if owner := channel.WithPayload(good).Options().Owner; owner != "ann" {
		t.Errorf("owner of a job with arguments that have no JSON form, after WithPayload: got %q, want ann", owner)
	}
}

func TestMaxAttempts_EndsTheJob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		options redrive.Options
		want    int
	}{
		{"lower than the policy", redrive.Options{MaxAttempts: 2}, 2},
		{"one attempt", redrive.Options{MaxAttempts: 1}, 1},
		{"the policy is lower", redrive.Options{MaxAttempts: 50}, 4},
		{"retries raised up to it", redrive.Options{MaxAttempts: 6, Override: &policy.Override{MaxRetries: new(5)}}, 6},
		{"as an override", redrive.Options{Override: &policy.Override{MaxAttempts: new(3)}}, 3},
		{"both the same", redrive.Options{MaxAttempts: 3, Override: &policy.Override{MaxAttempts: new(3)}}, 3},
	} {
		e := handle(t, func(context.Context, *redrive.Job[renderArgs]) error { return errors.New("oops") }, nil)
		id := enqueue(t, e, render.New(renderArgs{}, &tt.options))
		for range 10 {
			e.Work()
			e.Advance(24 * time.Hour)
		}
		if j := get(t, e, id); j.State != job.Dead || int(j.Counters.Attempts) != tt.want {
			t.Errorf("%s: got state %s after %d attempts, want state dead after %d attempts", tt.name, j.State, j.Counters.Attempts, tt.want)
		}
	}
}

func TestMaxAttempts_AContradictionIsAnError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		options redrive.Options
		want    string
	}{
		{redrive.Options{MaxAttempts: -1}, "MaxAttempts -1: must be 1 to 1000000, or 0 for what the policy says"},
		{redrive.Options{MaxAttempts: policy.MaxAttemptsLimit + 1}, "MaxAttempts 1000001: must be 1 to 1000000"},
		{redrive.Options{MaxAttempts: 3, Override: &policy.Override{MaxRetries: new(3)}}, "allows 2 retries, but Override.MaxRetries is 3"},
		{redrive.Options{MaxAttempts: 3, Override: &policy.Override{MaxTotalRetries: new(9)}}, "Override.MaxTotalRetries is 9"},
		{redrive.Options{MaxAttempts: 3, Override: &policy.Override{MaxAttempts: new(4)}}, "MaxAttempts 3 and Override.MaxAttempts 4"},
		{redrive.Options{MaxAttempts: 3, Override: &policy.Override{Retry: new(false)}}, "MaxAttempts 3 and Override.Retry false"},
	} {
		err := render.New(renderArgs{}, &tt.options).Err()
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("got error %v\nwant %s", err, tt.want)
		}
	}
}

func TestSpec_KeyJSONComparesValues(t *testing.T) {
	t.Parallel()
	client, err := redrive.New(memory.New(memory.Options{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	enqueue := func(payload string, asJSON bool) error {
		_, err := client.Enqueue(t.Context(), redrive.NewRaw("render", []byte(payload), &redrive.Options{Key: "k", KeyJSON: asJSON}))
		return err
	}
	if err := errors.Join(enqueue(`{"a": 1, "b": [1.0]}`, true), enqueue(`{"b":[1.0],"a":1}`, true)); err != nil {
		t.Error(err)
	}
	for _, other := range []string{`{"b":[1],"a":1}`, `{"a":1}`} {
		if err := enqueue(other, true); !errors.Is(err, redrive.ErrConflict) {
			t.Errorf("the payload %s: got the error %v, want an ErrConflict", other, err)
		}
	}
	if err := enqueue(`{"b":[1.0], "a":1}`, false); !errors.Is(err, redrive.ErrConflict) {
		t.Errorf("compared by bytes: got the error %v, want an ErrConflict", err)
	}
}

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
		Owner: "ann", Correlation: "c", Attrs: map[string]any{"n": json.Number("12345678901234567890"), "s": "x"}, Batch: 5,
		Override: &policy.Override{MaxAttempts: new(3)},
	}
	s := render.New(renderArgs{Scene: 7}, &given)
	if diff := cmp.Diff(given, s.Options()); diff != "" {
		t.Errorf("options of the spec (-given +got):\n%s", diff)
	}
	if again := s.WithOptions(s.Options()); !cmp.Equal(s.Options(), again.Options()) || string(again.Payload()) != string(s.Payload()) {
		t.Errorf("WithOptions with the same options changed the job; got the options %+v", again.Options())
	}
	want := redrive.Options{Queue: redrive.DefaultQueue, Priority: job.PriorityDefault, Attrs: map[string]any{}}
	if diff := cmp.Diff(want, render.New(renderArgs{}, nil).Options()); diff != "" {
		t.Errorf("default options (-want +got):\n%s", diff)
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

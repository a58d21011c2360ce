package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store/memory"
)

func TestEnqueueMiddleware_Order(t *testing.T) {
	t.Parallel()
	var calls []string
	note := func(name string) redrive.EnqueueMiddleware {
		return instead(func(ctx context.Context, s specs, next redrive.EnqueueFunc) (receipts, error) {
			kinds := make([]string, len(s))
			for i := range s {
				kinds[i] = s[i].Kind()
			}
			calls = append(calls, fmt.Sprintf("%s %v", name, kinds))
			r, err := next(ctx, s)
			ids := make([]redrive.JobID, len(r))
			for i := range r {
				ids[i] = r[i].ID
			}
			calls = append(calls, fmt.Sprintf("%s %v", name, ids))
			return r, err
		})
	}
	c := clientWith(t, memory.New(memory.Options{}), redrive.Config{
		EnqueueMiddleware: []redrive.EnqueueMiddleware{note("first"), note("second")},
		KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{
			"render": {note("render")}, "convert": {note("convert"), note("inner")}, "other": {note("other")},
		},
	})
	r, err := c.EnqueueMany(t.Context(), specs{convert.New(1, nil), render.New(renderArgs{}, nil), convert.New(2, nil), redrive.NewRaw("raw", nil, nil)})
	if err != nil || len(r) != 4 {
		t.Fatalf("EnqueueMany: got %v, error %v; want 4 receipts", r, err)
	}
	want := []string{
		"first [convert render convert raw]", "second [convert render convert raw]",
		"convert [convert convert]", "inner [convert convert]", "render [render]",
		"render [2]", "inner [1 3]", "convert [1 3]", "second [1 2 3 4]", "first [1 2 3 4]",
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("wrong calls of the middlewares (-want +got):\n%s", diff)
	}
	if none, err := c.EnqueueMany(t.Context(), nil); none != nil || err != nil || len(calls) != len(want) {
		t.Errorf("EnqueueMany of no jobs: got %v, error %v, %d calls of middlewares; want no error and no call", none, err, len(calls))
	}
}

// Run logs the kinds that have enqueue middleware and no handler. If the name of such a kind is
// similar to the name of a handled kind, the line is a warning.
func TestEnqueueMiddleware_KindsWithoutAHandlerAreLogged(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	none := []redrive.EnqueueMiddleware{passing(func(specs) {})}
	c := clientWith(t, memory.New(memory.Options{}), redrive.Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{
			"rendr": none, "render": none, "elsewhere": none,
		},
	})
	redrive.Handle(c, render, succeed, nil)
	if err := c.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		if _, after, ok := strings.Cut(line, " level="); ok && strings.Contains(after, "KindEnqueueMiddleware") {
			got = append(got, strings.TrimSpace(after))
		}
	}
	want := []string{
		`INFO msg="Config.KindEnqueueMiddleware has a kind that has no handler in this client" kind=elsewhere`,
		`WARN msg="Config.KindEnqueueMiddleware has a kind that has no handler in this client, did you mean \"render\"?" kind=rendr`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong log lines about kinds (-want +got):\n%s", diff)
	}
	_, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{"a b": none}})
	if want := `Config.KindEnqueueMiddleware: kind "a b": only letters`; !errors.Is(err, redrive.ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("New with enqueue middleware of the kind %q: got error %v, want %s", "a b", err, want)
	}
}

// Config.PayloadMax applies to the payload that is stored.
//
// proves: X3
func TestX3_EnqueueMiddleware_PayloadMaxAppliesToWhatIsStored(t *testing.T) {
	t.Parallel()
	resize := func(n int) redrive.EnqueueMiddleware {
		return passing(func(s specs) { s[0] = s[0].WithPayload([]byte(strings.Repeat("7", n))) })
	}
	owned := passing(func(s specs) { s[0] = s[0].WithOptions(redrive.Options{Owner: "ann"}) })
	for _, tt := range []struct {
		name  string
		size  int // the size of the payload that the caller gives
		all   []redrive.EnqueueMiddleware
		kind  []redrive.EnqueueMiddleware
		wrong string // a part of the error; "" means that the job is stored
	}{
		{"made smaller", 200, []redrive.EnqueueMiddleware{resize(100)}, nil, ""},
		{"made smaller for its kind", 200, nil, []redrive.EnqueueMiddleware{resize(100)}, ""},
		{"made larger, then smaller", 10, []redrive.EnqueueMiddleware{resize(200), resize(100)}, nil, ""},
		{"made larger, then smaller for its kind", 10, []redrive.EnqueueMiddleware{resize(200), owned}, []redrive.EnqueueMiddleware{resize(100)}, ""},
		{"above the limit of a store, then smaller", 10, []redrive.EnqueueMiddleware{resize(17 << 20), resize(100)}, nil, ""},
		{"made larger", 10, []redrive.EnqueueMiddleware{owned, resize(101), owned}, nil,
			`payload of kind "raw": 101 bytes, made by enqueue middleware Config.EnqueueMiddleware[1]: at most 100 (Config.PayloadMax)`},
		{"made larger for its kind", 10, nil, []redrive.EnqueueMiddleware{resize(101)},
			`101 bytes, made by enqueue middleware Config.KindEnqueueMiddleware["raw"][0]: at most 100`},
		{"too large from the caller", 101, []redrive.EnqueueMiddleware{owned}, nil, `payload of kind "raw": 101 bytes: at most 100 (Config.PayloadMax)`},
	} {
		c := clientWith(t, memory.New(memory.Options{}), redrive.Config{
			PayloadMax: 100, EnqueueMiddleware: tt.all,
			KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{"raw": tt.kind},
			Cron:                  []redrive.Cron{{Name: "any", Expression: "@daily", Spec: redrive.NewRaw("raw", make([]byte, tt.size), nil)}},
		})
		r, err := c.Enqueue(t.Context(), redrive.NewRaw("raw", make([]byte, tt.size), nil))
		switch {
		case tt.wrong != "":
			if !errors.Is(err, redrive.ErrTooLarge) || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: got error %v, want an ErrTooLarge with %s", tt.name, err, tt.wrong)
			}
		case err != nil:
			t.Errorf("%s: the call returned the error %v, want none", tt.name, err)
		default:
			if j, err := c.Get(t.Context(), r.ID); err != nil || len(j.Payload) != 100 {
				t.Errorf("%s: got a stored payload of %d bytes, error %v; want 100 bytes", tt.name, len(j.Payload), err)
			}
		}
	}
}

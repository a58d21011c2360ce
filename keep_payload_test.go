package redrive_test

import (
	"testing"

	"github.com/redrive/redrive"
)

// A completed job keeps its payload and its attributes if its kind asks for it, and only
// then.
//
// part of: Q9
func TestQ9_KeepPayload(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		c, err := redrive.New(d.open(), &redrive.Config{TempDir: t.TempDir(), Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		const kept = redrive.Kind[renderArgs]("kept")
		redrive.Handle(c, kept, succeed, &redrive.HandlerOptions{KeepPayload: true})
		redrive.Handle(c, render, succeed, nil)
		o := &redrive.Options{Attrs: map[string]any{"bucket": 2}}
		ids, err := c.EnqueueMany(t.Context(), []redrive.Spec{kept.New(renderArgs{}, o), render.New(renderArgs{}, o)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, keeps := range []bool{true, false} {
			j, err := c.Get(t.Context(), ids[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			if (len(j.Payload) > 0) != keeps || (string(j.Attrs) == `{"bucket":2}`) != keeps {
				t.Errorf("completed job of kind %s with KeepPayload %v: got payload %q and attributes %q, want both only if KeepPayload is true", j.Kind, keeps, j.Payload, j.Attrs)
			}
		}
	})
}

package redrive_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/schema"
	"github.com/redrive/redrive/store/sqlite"
)

// checkScenes is a check of payloads: the number of scenes must be at least 1.
func checkScenes(t *testing.T) map[string]redrive.PayloadCheck {
	t.Helper()
	s, err := schema.Compile("render.json", []byte(`{"type":"object","required":["scenes"],"properties":{"scenes":{"type":"integer","minimum":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]redrive.PayloadCheck{"render": s}
}

// refusedPayload fails the test unless err is a PayloadError about the number of scenes.
func refusedPayload(t *testing.T, what string, err error) {
	t.Helper()
	var bad *redrive.PayloadError
	if !errors.As(err, &bad) || !errors.Is(err, redrive.ErrInvalid) {
		t.Errorf("%s: the error is %v, want a PayloadError that is an ErrInvalid", what, err)
		return
	}
	if bad.Kind != "render" || len(bad.Mistakes) != 1 || bad.Mistakes[0].Detail != "Scenes must be at least 1" || bad.Mistakes[0].Pointer != "/scenes" {
		t.Errorf("%s: got %+v, want one mistake: Scenes must be at least 1", what, bad)
	}
}

// Wherever a payload enters the store through a client, it is checked, and a payload with mistakes
// leaves nothing behind.
//
// proves: X1
func TestX1_PayloadsAreCheckedWhereverTheyEnter(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{PayloadChecks: checkScenes(t)})
	redrive.HandleRaw(e.Client, "render", func(context.Context, *redrive.Job[[]byte]) error {
		return failure.Permanent(errors.New("no such image"))
	}, nil)
	good, bad := []byte(`{"scenes":1}`), []byte(`{"scenes":0}`)

	_, err := e.Enqueue(t.Context(), redrive.NewRaw("render", bad, nil))
	refusedPayload(t, "Enqueue", err)
	_, err = e.EnqueueMany(t.Context(), []redrive.Spec{redrive.NewRaw("render", good, nil), redrive.NewRaw("render", bad, nil)})
	refusedPayload(t, "EnqueueMany", err)
	if counts, err := e.Counts(t.Context()); err != nil || len(counts) != 0 {
		t.Errorf("after the refused enqueues the store has the jobs %+v, error %v; want none", counts, err)
	}

	waiting, err := e.Enqueue(t.Context(), redrive.NewRaw("render", good, &redrive.Options{RunAt: e.Now().Add(time.Hour)}))
	if err != nil {
		t.Fatal(err)
	}
	refusedPayload(t, "Alter", e.Alter(t.Context(), ops, waiting.ID, redrive.Change{Payload: bad}))
	_, err = e.AlterAll(t.Context(), ops, []redrive.JobID{waiting.ID}, redrive.EncodedChange{Payload: bad})
	refusedPayload(t, "AlterAll", err)
	if err := e.Alter(t.Context(), ops, waiting.ID, redrive.Change{Payload: []byte(`{"scenes":2}`)}); err != nil {
		t.Errorf("Alter with a good payload: %v", err)
	}

	dead, err := e.Enqueue(t.Context(), redrive.NewRaw("render", good, nil))
	if err != nil {
		t.Fatal(err)
	}
	e.Work()
	refusedPayload(t, "Retry", e.Retry(t.Context(), ops, dead.ID, &redrive.Change{Payload: bad}))
	_, err = e.Act(t.Context(), ops, redrive.Action{Do: redrive.ActRetry, IDs: []redrive.JobID{dead.ID}, Change: redrive.EncodedChange{Payload: bad}}, nil)
	refusedPayload(t, "Act", err)
	if j := get(t, e, dead.ID); j.State != job.Dead {
		t.Errorf("after the refused retries the job is %s, want it dead", j.State)
	}
	if err := e.Retry(t.Context(), ops, dead.ID, &redrive.Change{Payload: []byte(`{"scenes":3}`)}); err != nil {
		t.Errorf("Retry with a good payload: %v", err)
	}
	if _, err := e.Enqueue(t.Context(), redrive.NewRaw("mail", bad, nil)); err != nil {
		t.Errorf("Enqueue of a kind without a check: %v", err)
	}
}

// part of: X1
func TestX1_PayloadsAreCheckedInTransactions(t *testing.T) {
	t.Parallel()
	st := openSQLite(t)
	c, err := redrive.New(st, &redrive.Config{PayloadChecks: checkScenes(t), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := c.EnqueueTx(ctx, sqlite.Tx(tx), redrive.NewRaw("render", []byte(`{"scenes":-1}`), nil))
		return err
	})
	refusedPayload(t, "EnqueueTx", err)
}

// A middleware sees the payload before the check, so it can complete it.
//
// part of: X1
func TestX1_PayloadsAreCheckedAfterMiddleware(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{PayloadChecks: checkScenes(t), EnqueueMiddleware: []redrive.EnqueueMiddleware{
		func(next redrive.EnqueueFunc) redrive.EnqueueFunc {
			return func(ctx context.Context, specs []redrive.Spec) ([]redrive.Receipt, error) {
				for i := range specs {
					specs[i] = specs[i].WithPayload([]byte(`{"scenes":` + string(specs[i].Payload()) + `}`))
				}
				return next(ctx, specs)
			}
		},
	}})
	if _, err := e.Enqueue(t.Context(), redrive.NewRaw("render", []byte(`1`), nil)); err != nil {
		t.Errorf("a payload that the middleware completes: %v", err)
	}
	_, err := e.Enqueue(t.Context(), redrive.NewRaw("render", []byte(`0`), nil))
	refusedPayload(t, "a payload that the middleware makes wrong", err)
}

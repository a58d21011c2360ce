package redrive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
)

// All jobs with the wrong bucket are retried with the right one. The other bytes of their
// payloads do not change, and jobs to which the patch does not apply stay dead.
//
// proves: D5
// part of: D3
func TestD5_DeadJobsAreRetriedWithAPatch(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{PayloadMax: 100})
	dies := true
	redrive.HandleRaw(e.Client, "upload", func(context.Context, *redrive.Job[[]byte]) error {
		if dies {
			return failure.Permanent(errors.New("no such bucket"))
		}
		return nil
	}, nil)
	payloads := []string{
		`{ "bucket": "wrong",  "size": 9223372036854775808, "name": "\u00e4" }`,
		`{"bucket":"other"}`, `not JSON`, `{"bucket":"wrong"}`,
		`{"bucket":"wrong","pad":"0123456789012345678901234567890123456789012345678901234567890123456789"}`,
	}
	var ids []redrive.JobID
	for _, p := range payloads {
		r, err := e.EnqueueMany(t.Context(), []redrive.Spec{redrive.NewRaw("upload", []byte(p), nil)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r[0].ID)
	}
	e.Work()
	dies = false
	patch := []byte(`[{"op":"test","path":"/bucket","value":"wrong"},{"op":"replace","path":"/bucket","value":"right one"}]`)
	a := redrive.Action{Do: redrive.ActRetry, Filter: &redrive.DeadFilter{Kind: "upload"}, Note: "bucket"}
	seen, err := e.RetryPatched(t.Context(), ops, a, patch, true, nil)
	if err != nil || seen.Done != 2 || seen.RefusedN != 3 || seen.Example.Job == 0 {
		t.Fatalf("preview: got %+v, error %v; want 2 retried jobs, 3 refused jobs and an example", seen, err)
	}
	if j := get(t, e, ids[0]); j.State != job.Dead {
		t.Errorf("after the preview, job 1 is %s, want it dead", j.State)
	}
	a.Through = seen.Through
	did, err := e.RetryPatched(t.Context(), ops, a, patch, false, nil)
	if err != nil || did.Done != 2 || did.RefusedN != 3 || len(did.Refused) != 3 {
		t.Fatalf("RetryPatched: got %+v, error %v; want 2 retried and 3 refused jobs", did, err)
	}
	for _, r := range did.Refused {
		if j := get(t, e, r.Job); j.State != job.Dead || r.Err == nil {
			t.Errorf("refused job %d is %s with the reason %v, want it dead with a reason", r.Job, j.State, r.Err)
		}
	}
	want := `{ "bucket": "right one",  "size": 9223372036854775808, "name": "\u00e4" }`
	if j := get(t, e, ids[0]); string(j.Payload) != want || j.Priority != job.PriorityMax {
		t.Errorf("got payload %s with priority %d, want %s with priority %d", j.Payload, j.Priority, want, job.PriorityMax)
	}
	original, err := e.Original(t.Context(), ids[0])
	if err != nil || string(original.Payload) != payloads[0] {
		t.Errorf("Original: got payload %s, error %v; want %s", original.Payload, err, payloads[0])
	}
	e.Work()
	if j := get(t, e, ids[3]); j.State != job.Completed {
		t.Errorf("job 4 is %s, want it completed", j.State)
	}
	again, err := e.RetryPatched(t.Context(), ops, a, patch, false, nil)
	if err != nil || again.Done != 0 {
		t.Errorf("RetryPatched again: got %d jobs, error %v; want none", again.Done, err)
	}
	byID, err := e.RetryPatched(t.Context(), ops, redrive.Action{Do: redrive.ActRetry, IDs: []redrive.JobID{ids[1], ids[3], 1 << 40}},
		[]byte(`[{"op":"add","path":"/x","value":null}]`), false, nil)
	if err != nil || byID.Done != 1 || byID.RefusedN != 2 || !errors.Is(byID.Refused[0].Err, redrive.ErrConflict) || !errors.Is(byID.Refused[1].Err, redrive.ErrNotFound) {
		t.Errorf("RetryPatched by ids: got %+v, error %v; want one job retried, and two refused with ErrConflict and ErrNotFound", byID, err)
	}
	for _, bad := range []string{``, `{}`, `[{"op":"eat","path":""}]`} {
		if _, err := e.RetryPatched(t.Context(), ops, a, []byte(bad), true, nil); !errors.Is(err, redrive.ErrInvalid) {
			t.Errorf("patch %q: got error %v, want ErrInvalid", bad, err)
		}
	}
}

package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// patchOf sets the patch of a redrive that has no canary and never stops by itself.
func patchOf(text string) func(*store.RedriveSpec) {
	return func(s *store.RedriveSpec) { neverStops(s); s.Patch, s.Canary = []byte(text), -1 }
}

// A redrive with a patch changes the payload of each job that it releases, and only the bytes that
// the patch names. Jobs to which the patch does not apply stay dead and are counted. The redrive
// continues after a pause.
//
// proves: D5, D7
func redrivePatches(r *rig) {
	long := `{"bucket": "wrong", "pad": "` + strings.Repeat("x", 2_000) + `"}`
	payloads := []string{`{ "bucket":"wrong",  "n": 9223372036854775808}`, `not JSON`, `{"bucket":"other"}`, long, `{"bucket":"wrong"}`}
	var ids []job.ID
	for _, p := range payloads {
		ids = append(ids, r.die("A", func(n *job.New) { n.Payload = []byte(p) }))
	}
	const patch = `[{"op":"test","path":"/bucket","value":"wrong"},{"op":"replace","path":"/bucket","value":"right one"}]`
	d := r.startRedrive(patchOf(patch), func(s *store.RedriveSpec) {
		s.PayloadMax, s.Change.Delay = 2_000, new(time.Minute)
	})
	same(r, "stored patch", []any{string(r.redrive(d.ID).Patch), r.redrive(d.ID).PayloadMax}, []any{patch, 2_000})
	same(r, "first step", r.step(1).Released, int64(1))
	_, err := r.ControlRedrive(ctx(), person, d.ID, store.RedrivePause)
	r.ok(err)
	same(r, "step of a paused redrive", r.step(10).Released, int64(0))
	_, err = r.ControlRedrive(ctx(), person, d.ID, store.RedriveResume)
	r.ok(err)
	r.step(10)
	r.step(10)
	is := r.redrive(d.ID)
	same(r, "numbers", []any{is.State, is.Released, is.Refused}, []any{store.RedriveSettling, int64(2), int64(3)})
	if want := fmt.Sprintf("job %d: ", ids[1]); !strings.HasPrefix(is.RefusedWhy, want) {
		r.fail("the reason for the first refused job is %q, want a text that begins with %q", is.RefusedWhy, want)
	}
	same(r, "payload", string(r.get(ids[0]).Payload), `{ "bucket":"right one",  "n": 9223372036854775808}`)
	same(r, "due", r.get(ids[0]).RunAt, r.in(time.Minute))
	o, err := r.Original(ctx(), ids[0])
	r.ok(err)
	same(r, "original", []any{string(o.Payload), o.By}, []any{payloads[0], fmt.Sprint("redrive ", d.ID)})
	for i, want := range []job.State{job.Waiting, job.Dead, job.Dead, job.Dead, job.Waiting} {
		r.state(ids[i], want)
		if want == job.Dead {
			same(r, "payload of a refused job", string(r.get(ids[i]).Payload), payloads[i])
		}
	}
	for _, a := range r.audit() {
		if strings.Contains(a.After, "right one") {
			r.fail("the audit row %s has the text %s, want only the size and the hash of the patch", a.Action, a.After)
		}
	}
}

// A job gets the unique key of its new payload. If another living job holds that key, the job is
// refused. So is the second of two jobs that would get the same key.
//
// proves: D5
// part of: I1
func redrivePatchKeys(r *rig) {
	keyed := func(payload string) func(*job.New) { return payloadKey(job.AliveKey, payload) }
	key := func(payload string) string { return job.PayloadKey(job.AliveKey, []byte(payload)) }
	first := r.die("A", keyed(`{"a":1,"b":1}`))
	second := r.die("A", keyed(`{"a":1,"b":2}`))
	third := r.die("A", keyed(`{"a":2,"b":2}`))
	r.add(keyed(`{"a":2}`))
	d := r.startRedrive(patchOf(`[{"op":"remove","path":"/b"}]`))
	r.step(100)
	is := r.redrive(d.ID)
	same(r, "numbers", []int64{is.Released, is.Refused}, []int64{1, 2})
	same(r, "key", r.get(first).Key, key(`{"a":1}`))
	r.state(second, job.Dead)
	r.state(third, job.Dead)
	same(r, "key of a refused job", r.get(third).Key, key(`{"a":2,"b":2}`))
	if !strings.Contains(is.RefusedWhy, "the same unique key") {
		r.fail("the reason for the first refused job is %q, want that another job has the same unique key", is.RefusedWhy)
	}
}

// If the patch applies to no job of a canary, other jobs take their place, and no job is counted
// twice.
//
// proves: D7
func redrivePatchCanary(r *rig) {
	var ids []job.ID
	for i := range 30 {
		payload := `[]`
		if i%10 == 5 {
			payload = `{"a":1}`
		}
		ids = append(ids, r.die("A", func(n *job.New) { n.Payload = []byte(payload) }))
	}
	d := r.startRedrive(canaryOf(2), func(s *store.RedriveSpec) { s.Patch = []byte(`[{"op":"replace","path":"/a","value":2}]`) })
	for range 30 {
		r.step(100)
	}
	r.answer(2, "")
	for range 3 {
		r.step(100)
	}
	is := r.redrive(d.ID)
	same(r, "numbers", []any{is.State, is.Released, is.Refused}, []any{store.RedriveSettling, int64(3), int64(27)})
	r.state(ids[25], job.Waiting)
}

// A redrive that never stops by itself does not wait for answers.
//
// proves: D7
func redriveWithoutStop(r *rig) {
	r.dieAll(300, "A")
	d := r.startRedrive(canaryOf(-1), neverStops)
	same(r, "released", r.step(1_000).Released, int64(300))
	same(r, "state", r.redrive(d.ID).State, store.RedriveSettling)
}

package demo

import (
	"fmt"

	"github.com/redrive/redrive"
)

// The kinds of jobs. The presets and the queues have the same names.
const (
	kindTranscribe = "transcribe"
	kindRender     = "render"
	kindOCR        = "ocr"
	kindWatermark  = "watermark"
	kindChat       = "chat"
)

// kinds lists the kinds in display order.
var kinds = [...]string{kindTranscribe, kindRender, kindOCR, kindWatermark, kindChat}

// shares are the shares of the kinds in the number of jobs, in the order of kinds.
var shares = [...]float64{0.22, 0.16, 0.24, 0.16, 0.22}

// The default and the bounds of Options.Jobs.
const (
	JobsDefault = 560
	JobsMin     = 100
	JobsMax     = 20_000
)

// task is the payload of the demo's jobs.
type task struct {
	// Key identifies the job in calls to the upstream, as an idempotency key or a path
	// does.
	Key string `json:"key"`
	// Tenant is the tenant whose key is sent to the text recognition service.
	Tenant string `json:"tenant,omitempty"`
	// Bucket is the storage bucket of the result.
	Bucket string `json:"bucket,omitempty"`
}

// demoJob is a job before it is enqueued.
type demoJob struct {
	task
	kind, key string
	attrs     map[string]any
	spared    bool // whether the job gets no further fault, because it is a special job
}

// The shares of special jobs among the jobs of a kind.
const (
	revokedShare = 0.40 // share of the jobs of kind ocr that belong to the tenant whose key was revoked
	fullShare    = 0.12 // share of the jobs of kind render that write to the bucket that accepts no writes
	longShare    = 0.03 // share of the jobs of kind transcribe that a rule sends to another queue
	holdShare    = 0.03 // share of the jobs of kind transcribe that a rule holds until a person decides
)

// makeJobs makes the jobs of the demo. The seed selects the special jobs.
func makeJobs(seed uint64, n int) []demoJob {
	var all []demoJob
	for i, kind := range kinds {
		size := int(shares[i] * float64(n))
		if i == len(kinds)-1 {
			size = n - len(all)
		}
		first := len(all)
		for number := range size {
			key := fmt.Sprintf("%s-%d", kind, number+1)
			all = append(all, demoJob{task: task{Key: key}, kind: kind, key: key, attrs: map[string]any{}})
		}
		specialize(seed, kind, all[first:])
	}
	return all
}

// specialize makes some jobs of a kind special. The seed selects these jobs.
func specialize(seed uint64, kind string, jobs []demoJob) {
	order := make([]string, len(jobs))
	byKey := map[string]*demoJob{}
	for i := range jobs {
		order[i], byKey[jobs[i].key] = jobs[i].key, &jobs[i]
	}
	shuffle(seed, kind+" specials", order)
	take := func(share float64, f func(*demoJob)) {
		n := max(1, int(share*float64(len(jobs))))
		for _, key := range order[:n] {
			byKey[key].spared = true
			f(byKey[key])
		}
		order = order[n:]
	}
	switch kind {
	case kindTranscribe:
		for i := range jobs {
			jobs[i].attrs["duration_seconds"] = 600
		}
		take(longShare, func(j *demoJob) { j.attrs["duration_seconds"] = 7 * 3600 })
		take(holdShare, func(j *demoJob) { j.attrs["duration_seconds"] = 9 * 3600 })
	case kindRender:
		for i := range jobs {
			jobs[i].Bucket = "fresh"
		}
		take(fullShare, func(j *demoJob) { j.Bucket = "archive" })
	case kindOCR:
		for i := range jobs {
			jobs[i].Tenant = "north"
		}
		take(revokedShare, func(j *demoJob) { j.Tenant = "south" })
	}
}

// spec returns the job in the form that is enqueued.
func (j *demoJob) spec() redrive.Spec {
	return redrive.Kind[task](j.kind).New(j.task, &redrive.Options{
		Queue: j.kind, Key: j.key, Correlation: "demo-" + j.key, Owner: j.Tenant, Attrs: j.attrs,
	})
}

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/examples/ocr/world"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// proves: Y3
func TestY3_Three429Then200AreFourCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, world.Trouble{Where: world.Vision, About: "LETTER", Times: 3, Status: 429})
	j, failures := r.do(file{Name: "letter"})
	if j.State != job.Completed || j.Token != 1 || len(failures) != 0 {
		t.Fatalf("got job %+v with failures %+v, want it completed without a failure", j, failures)
	}
	if got := resultOf(j.Result); got.Title != "LETTER" || got.Total != "107.50" || got.Source != "ocr" || got.Warnings != nil {
		t.Errorf("got the result %+v, want title LETTER, total 107.50, source ocr and no warnings", got)
	}
	if calls := r.plan.Calls(world.Vision, ""); len(calls) != 4 || calls[3].Status != 200 || !sameKey(calls) {
		t.Errorf("got the calls %+v of the OCR API, want four calls with one key", calls)
	}
	// The expected waits are half of the longest waits 1, 2 and 4 s, because the test sets the
	// random part of a wait to a half.
	if want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}; !slices.Equal(r.waits, want) {
		t.Errorf("got the waits %v between the calls, want %v", r.waits, want)
	}
	lines := r.logged()
	if len(lines) != 4 || lines[0]["level"] != "WARN" || lines[3]["level"] != "INFO" || lines[3]["retry_attempt"] != 3.0 ||
		lines[3]["shell_file_id"] != "letter" || lines[3]["operation"] != "OCR" {
		t.Errorf("got the log lines %v, want three warnings, and then an INFO line about the recovered call", lines)
	}
}

// If the connection breaks in the middle of a body, the first part of the body is not used: the
// next attempt reads or writes the whole object.
//
// proves: Y3
func TestY3_StorageCutInMidBodyHeals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ where, key string }{
		{world.Read, "inbox/invoice.png"}, {world.Write, "invoice/page-1.json"},
		{world.Write, "invoice/manifest.json"}, {world.Write, "invoice/page-1.processed.png"},
	} {
		r := newRig(t)
		id := r.enqueue(file{Name: "invoice"})
		r.plan.Add(world.Trouble{Where: c.where, About: c.key, Times: 1, Status: world.Cut})
		j, failures := r.work(id)
		if j.State != job.Completed || j.Token != 1 || len(failures) != 0 {
			t.Errorf("fault in %s of %s: got job %+v, failures %+v; want it completed in one run", c.where, c.key, j, failures)
		}
		if got := resultOf(j.Result); got.Title != "INVOICE" || got.Total != "107.50" || got.Warnings != nil {
			t.Errorf("fault in %s of %s: got result %+v, want the invoice without warnings", c.where, c.key, got)
		}
		calls := r.plan.Calls(c.where, c.key)
		if len(calls) != 2 || calls[0].Status != world.Cut || calls[1].Status != 200 || len(r.waits) != 1 || r.waits[0] != 500*time.Millisecond {
			t.Errorf("fault in %s of %s: got calls %+v and waits %v; want two calls and a wait of 500 ms", c.where, c.key, calls, r.waits)
		}
	}
}

// If the connection breaks after the status of an API's answer, the attempt has failed.
//
// part of: Y3
func TestY3_AnswerCutInMidBodyHeals(t *testing.T) {
	t.Parallel()
	r := newRig(t, world.Trouble{Where: world.Vision, Times: 1, Status: world.Cut}, world.Trouble{Where: world.Model, Times: 1, Status: world.Cut})
	j, failures := r.do(file{Name: "letter"})
	if j.State != job.Completed || len(r.plan.Calls(world.Vision, "")) != 2 || len(r.plan.Calls(world.Model, "")) != 2 {
		t.Errorf("got job %+v, failures %+v, log %+v; want it completed after two calls of each API", j, failures, r.logged())
	}
}

// When a call has used all its retries, the job waits in its queue for a little over 300 s by the
// store's clock. The job has used no attempt. Its next run continues with the page that the first
// run has stored.
//
// proves: Y3
//
// part of: L3, P3
func TestY3_LanguageModelDownReschedulesOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, world.Trouble{Where: world.Model, About: "RECEIPT", Times: 4, Status: 503})
	j, failures := r.do(file{Name: "receipt"})
	const due = 315 * time.Second // 300 s and half of the jitter, which is at most 30 s
	if j.State != job.Waiting || j.RunAt.Time().Sub(r.Now()) != due || j.Counters != (job.Counters{Deferrals: 1}) {
		t.Fatalf("got job %+v, want it waiting", j)
	}
	if len(failures) != 1 || !strings.HasPrefix(failures[0].Message, "language model retries exhausted: ") ||
		failures[0].HTTPStatus != 503 || failures[0].Class != string(failure.TemporaryServiceError) ||
		failures[0].Sends != 9 { // five requests of the earlier calls, and four of this call
		t.Errorf("got failures %+v, want one failure for the hand-over to the queue", failures)
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}; !slices.Equal(r.waits, want) {
		t.Errorf("got the waits %v, want %v (half of the longest waits)", r.waits, want)
	}
	if lines := r.logged(); len(lines) != 4 || lines[3]["level"] != "WARN" || lines[3]["delay_ms"] != 315_000.0 {
		t.Errorf("got the log lines %v, want four, the last a warning with a delay of 315 s", lines)
	}
	r.advance(due - time.Microsecond)
	if j, _ := r.work(j.ID); j.State != job.Waiting || j.Token != 1 {
		t.Fatalf("before the job is due: got job %+v, want it waiting after one run", j)
	}
	r.advance(time.Microsecond)
	j, failures = r.work(j.ID)
	if j.State != job.Completed || j.Token != 2 || j.Counters != (job.Counters{Attempts: 1, Deferrals: 1}) || len(failures) != 1 {
		t.Errorf("got job %+v with failures %+v, want it completed", j, failures)
	}
	if got := resultOf(j.Result); got.Title != "RECEIPT" || got.Source != "storage" {
		t.Errorf("got the result %+v, want title RECEIPT from the storage", got)
	}
	if calls := r.plan.Calls(world.Model, ""); len(calls) != 5 || !sameKey(calls) {
		t.Errorf("got the calls %+v of the language model, want five calls with one key", calls)
	}
	if calls := r.plan.Calls(world.Vision, ""); len(calls) != 1 {
		t.Errorf("got the calls %+v of the OCR API, want one, because the page is stored", calls)
	}
}

// proves: Y3
func TestY3_WrongKeyIsOneCallAndAClearMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j, failures := r.do(file{Name: "memo", Account: "former"})
	if j.State != job.Dead || j.Reason != job.NonRetriable || j.Token != 1 || len(failures) != 1 {
		t.Fatalf("got job %+v with failures %+v, want it dead", j, failures)
	}
	f := failures[0]
	for _, part := range []string{"language model: ", "401 Unauthorized", "Incorrect API key provided"} {
		if !strings.Contains(f.Message, part) {
			t.Errorf("got message %q, want it to contain %q", f.Message, part)
		}
	}
	if f.Class != string(failure.AuthenticationFailure) || !f.Permanent || f.HTTPStatus != 401 || f.UserMessage == "" || strings.Contains(f.Message, "revoked") {
		t.Errorf("got failure %+v, want a permanent failure of authentication without the word revoked", f)
	}
	if calls := r.plan.Calls(world.Model, ""); len(calls) != 1 || len(r.waits) != 0 {
		t.Errorf("got calls %+v and waits %v, want one call and no wait", calls, r.waits)
	}
	if lines := r.logged(); len(lines) != 1 || lines[0]["level"] != "ERROR" || lines[0]["is_retryable"] != false {
		t.Errorf("got the log lines %v, want one error that is not retryable", lines)
	}
}

// site is one of the eight calls of a job, with what happens to the job when the call fails after
// its last retry.
type site struct {
	name, where, about string
	again              bool   // whether the call is made only for a document that was read before
	warning            string // the warning in the result of the job; "" means that the job does not continue: it waits for another run or fails
	source             string // the source of the text if the job continues
}

var sites = []site{
	{name: "file download", where: world.Read, about: "inbox/form.png"},
	{name: "manifest download", where: world.Read, about: "form/manifest.json", again: true, warning: "the manifest could not be loaded", source: "ocr"},
	{name: "page download", where: world.Read, about: "form/page-1.json", again: true, warning: "the page could not be loaded", source: "ocr"},
	{name: "OCR", where: world.Vision, about: "FORM"},
	{name: "page upload", where: world.Write, about: "form/page-1.json"},
	{name: "manifest upload", where: world.Write, about: "form/manifest.json"},
	{name: "language model", where: world.Model, about: "FORM"},
	{name: "processed-image upload", where: world.Write, about: "form/page-1.processed.png", warning: "the processed image could not be stored", source: "ocr"},
}

// proves: L7
func TestL7_EightCallsAndWhatBecomesOfTheJob(t *testing.T) {
	t.Parallel()
	for _, s := range sites {
		for status, sends := range map[int]int{503: 4, 403: 1, world.Cut: 4} {
			t.Run(fmt.Sprintf("%s, %d", s.name, status), func(t *testing.T) {
				t.Parallel()
				s.check(t, status, sends)
			})
		}
	}
}

// check makes every request of the call fail with a status, and then checks the job.
func (s *site) check(t *testing.T, status, sends int) {
	r := newRig(t)
	id := r.enqueue(file{Name: "form"})
	if s.again {
		if j, _ := r.work(id); j.State != job.Completed {
			t.Fatalf("first run: got job %+v, want it completed", j)
		}
		id = r.enqueue(file{Name: "form"})
	}
	before := len(r.plan.Calls(s.where, s.about))
	r.plan.Add(world.Trouble{Where: s.where, About: s.about, Times: sends, Status: status})
	j, failures := r.work(id)
	calls := r.plan.Calls(s.where, s.about)[before:]
	failed := 0
	for _, c := range calls {
		if c.Status == status {
			failed++
		}
	}
	if failed != sends {
		t.Errorf("got the calls %+v, want %d calls that fail", calls, sends)
	}
	switch {
	case s.warning != "":
		got := resultOf(j.Result)
		if j.State != job.Completed || !slices.Equal(got.Warnings, []string{s.warning}) || got.Source != s.source || got.Title != "FORM" {
			t.Errorf("got state %s, result %+v, failures %+v; want the job completed with the warning", j.State, got, failures)
		}
	case sends == 1:
		if j.State != job.Dead || j.Reason != job.NonRetriable || !strings.Contains(failures[0].Message, s.name+": ") {
			t.Errorf("got job %+v with failures %+v, want a dead job whose failure names the call", j, failures)
		}
	default:
		if j.State != job.Waiting || j.Counters.Deferrals != 1 || !strings.Contains(failures[0].Message, s.name+" retries exhausted: ") {
			t.Errorf("got job %+v with failures %+v, want a waiting job whose failure names the call", j, failures)
		}
		r.advance(315 * time.Second)
		if j, failures := r.work(id); j.State != job.Completed {
			t.Errorf("after the service works again: got job %+v with failures %+v, want it completed", j, failures)
		}
	}
}

// A job may be handed over to the queue three times, when a call has used all its retries. After
// that, a failed call is a failed attempt of the job.
//
// proves: P3
func TestP3_ThreeHandOversAJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, world.Trouble{Where: world.Model, Times: world.Always, Status: 503})
	j, _ := r.do(file{Name: "form"})
	for n := int32(1); n <= 3; n++ {
		if j.State != job.Waiting || j.Counters.Deferrals != n {
			t.Fatalf("run %d has handed the job over to the queue: got job %+v, want it waiting", n, j)
		}
		r.advance(315 * time.Second)
		j, _ = r.work(j.ID)
	}
	if j.State != job.Dead || j.Reason != job.MaxRetries || j.Counters != (job.Counters{Attempts: 1, Deferrals: 3}) {
		t.Fatalf("the calls failed once more after 3 deferrals: got job %+v, want it dead as max_retries with 1 attempt and 3 deferrals", j)
	}
	if got := len(r.plan.Calls(world.Model, "")); got != 16 {
		t.Errorf("got %d calls, want 16: four runs with four calls", got)
	}
}

// A picture that has changed is read by OCR again.
//
// part of: L7
func TestL7_AStoredPageServesOnlyItsOwnPicture(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n, want := range []string{"ocr", "storage"} {
		if j, _ := r.do(file{Name: "form"}); resultOf(j.Result).Source != want {
			t.Errorf("run %d: got result %s; want the source ocr in the first run, and storage in the second", n+1, j.Result)
		}
	}
	id := r.enqueue(file{Name: "form"})
	other, err := world.Page("FORM\nTOTAL: 9")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.bucket.WriteAll(t.Context(), file{Name: "form"}.inbox(), other, nil); err != nil {
		t.Fatal(err)
	}
	if j, _ := r.work(id); resultOf(j.Result).Source != "ocr" || resultOf(j.Result).Total != "9" {
		t.Errorf("got result %s, want the new text", j.Result)
	}
	// For a file that is not a picture, the OCR API answers status 200 with an error.
	id = r.enqueue(file{Name: "form"})
	if err := r.bucket.WriteAll(t.Context(), file{Name: "form"}.inbox(), []byte("no picture"), nil); err != nil {
		t.Fatal(err)
	}
	if j, failures := r.work(id); j.State != job.Dead || failures[0].Class != string(failure.InvalidInput) {
		t.Errorf("got job %+v with failures %+v, want a dead job with the class InvalidInput", j, failures)
	}
}

// part of: Y3
func TestY3_TheDemonstrationShowsIt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, t.TempDir(), 300); err != nil {
		t.Fatalf("run of the demonstration: got error %v, want none; its output is:\n%s", err, out.String())
	}
	for _, line := range []string{
		"recovered after 4 sends", "recovered after 2 sends", "after 4 sends: the job is due again in 5m",
		"RECEIPT, total 121.50, text from storage", "401 AuthenticationFailure after 1 send: ",
		"warning: the processed image could not be stored", "warning: the manifest could not be loaded", "warning: the page could not be loaded",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("want the text %q in the output of the demonstration; the output is:\n%s", line, out.String())
		}
	}
}

// Environment variables change the presets. A wrong value is an error when the program starts.
//
// part of: L2
func TestL2_TheEnvironmentChangesThePresets(t *testing.T) {
	t.Parallel()
	c, err := newCalls(&settings{Environ: []string{"OPENAI_RETRY_MAX=5", "GOOGLE_VISION_RETRY_MAX=2", "STORAGE_RETRY_BASE_MS=200"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.languageModel.Options().Retries != 5 || c.ocr.Options().Retries != 2 || c.pageUpload.Options().Backoff.First != 200*time.Millisecond {
		t.Errorf("got the strategies\n%s\n%s\n%s\nwant 5 retries, 2 retries, and a first wait of 200 ms", c.languageModel, c.ocr, c.pageUpload)
	}
	if _, err := newCalls(&settings{Environ: []string{"OPENAI_RETRY_MAX=3abc"}}); err == nil || !strings.Contains(err.Error(), "OPENAI_RETRY_MAX") {
		t.Errorf("got error %v, want an error that names OPENAI_RETRY_MAX", err)
	}
}

package selfbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

const (
	callRounds   = 51 // number of measured rounds; the result is their median
	callRound    = 200 * time.Microsecond
	failureTexts = 64           // number of different failures, so that a cache does not help
	hugeText     = 10 << 20     // size of the longest text in bytes
	failureKind  = "renditions" // kind of the jobs that fail
)

// judgementFigures measures how long it takes to classify one failure and to decide about
// it. It uses no store.
func (*bencher) judgementFigures(_ context.Context, p *printer) error {
	j := newFailures()
	allocs := allocations(j.decide)
	return errors.Join(
		p.within("typed, wrapped error classified", j.typed, 200*time.Nanosecond),
		p.within("200-byte text classified", j.text, 5*time.Microsecond),
		p.within("200-byte text classified, sanitised, fingerprinted and decided", j.all, 20*time.Microsecond),
		p.within("decision", j.decide, 500*time.Nanosecond),
		p.print(Figure{"allocations of a decision", "0", float64(allocs), "allocations", 0, allocs == 0}),
		p.within("10 MiB text classified", j.huge, 5*time.Millisecond),
	)
}

// within measures a call and prints its duration. The target is a maximum, given by the last
// argument.
func (p *printer) within(name string, do func(i int), most time.Duration) error {
	took := perCall(do)
	return p.print(Figure{name, "< " + most.String(), float64(took.Nanoseconds()) / 1000, "µs", 0, took < most})
}

// failures holds the failures to classify and the policy that decides about them.
type failures struct {
	policy *policy.Policy
	errs   []error // typed errors, wrapped in other errors
	texts  []error // errors that have only a text
	inputs []policy.Input
	giant  error
	sink   int // every result changes this variable, so that the compiler does not remove the measured calls
}

func newFailures() *failures {
	j := &failures{policy: policy.Default()}
	for i := range failureTexts {
		reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
		j.errs = append(j.errs, fmt.Errorf("rendition %d: %w", 4_000_000+i, fmt.Errorf("upload part %d: %w", i, reset)))
		j.texts = append(j.texts, errors.New(textOf(i)))
		e := failure.Of(j.texts[i])
		j.inputs = append(j.inputs, policy.Input{
			Kind: failureKind, Evidence: &e, Class: j.policy.Classify(&e, failureKind), How: job.ByError,
			Age: time.Minute, Now: time.Unix(1_800_000_000, 0), U: float64(i) / failureTexts,
		})
	}
	j.giant = errors.New(strings.Repeat(textOf(0)+"\n", hugeText/len(textOf(0))+1)[:hugeText])
	return j
}

// textOf returns an error text of about 200 bytes, in the form that handlers, services and
// programs use. Each i gives other ids.
func textOf(i int) string {
	id := uint64(i+1) * 0x9E3779B97F4A7C15
	forms := [...]string{
		"fetch https://media.example.com/v2/renditions/%d/preview.mp4: unexpected status 503 Service Unavailable: upstream connect error or disconnect/reset before headers (request id req_%016x)",
		"TimeoutError: HTTPSConnectionPool(host='api.example.com', port=443): Read timed out. (read timeout=30) while calling /v1/transcripts/%d for the speaker model; trace id %016x, region eu-central-1, attempt 2",
		"rpc error: code = ResourceExhausted desc = Quota exceeded for quota metric 'Generate requests' and limit 'per minute' of service 'generate.example.com' for consumer 'project_number:%d' [trace %016x]",
		"ERROR: could not serialize access due to concurrent update (SQLSTATE 40001) while executing UPDATE accounts SET balance = balance - $1 WHERE id = %d in the transaction %016x of the worker billing-7",
		"ffmpeg: exit status 1: [mov,mp4,m4a,3gp,3g2,mj2 @ 0x55d0c8a3f2c0] moov atom not found; /var/lib/renders/%d/input.mp4: Invalid data found when processing input (log file render-%016x.txt was uploaded)",
		`{"error":{"message":"The model is currently overloaded with other requests, please retry your request %d or contact us through our help center if the error persists.","type":"server_error","code":null,"request_id":"%016x"}}`,
		"connect to the search cluster: dial tcp 10.42.%[1]d.17:9200: connect: connection refused (index products-%016[2]x, node search-data-3, the last healthy check was 14 seconds ago, retrying is up to the caller)",
		"validation failed for order %d: the field 'shipping.address.postcode' must be between 4 and 10 characters, got 0; the field 'lines' must not be empty (schema order.v3, correlation id %016x)",
	}
	return fmt.Sprintf(forms[i%len(forms)], i, id)
}

func (j *failures) typed(i int) {
	e := failure.Of(j.errs[i])
	c := j.policy.Classify(&e, failureKind)
	j.sink += len(c.Rule)
}

func (j *failures) text(i int) {
	e := failure.Of(j.texts[i])
	c := j.policy.Classify(&e, failureKind)
	j.sink += len(c.Rule)
}

// all does everything that the engine does with a failure before it stores it.
func (j *failures) all(i int) {
	e := failure.Of(j.texts[i])
	in := policy.Input{
		Kind: failureKind, Evidence: &e, Class: j.policy.Classify(&e, failureKind), How: job.ByError,
		Age: time.Minute, Now: time.Unix(1_800_000_000, 0), U: 0.5,
	}
	e.Message = failure.Sanitize(e.Message, nil)
	d := j.policy.Decide(&in)
	group := failure.Fingerprint(failureKind, d.Class, in.Class.Code, e.Message)
	j.sink += len(e.Message) + len(d.Rule) + len(group.Key)
}

func (j *failures) decide(i int) {
	d := j.policy.Decide(&j.inputs[i])
	j.sink += len(d.Rule)
}

// huge classifies a very long text that was not shortened, such as a text from another
// process.
func (j *failures) huge(int) {
	e := failure.Evidence{Message: j.giant.Error()}
	c := j.policy.Classify(&e, failureKind)
	e = failure.Of(j.giant)
	j.sink += len(c.Rule) + len(e.Message)
}

// perCall measures a call in many rounds. It returns the duration of one call in the median
// round. The rounds are short, so that few of them are interrupted.
func perCall(do func(i int)) time.Duration {
	n := 1
	for min(several(do, n), several(do, n)) < callRound { // of two measurements the shorter one counts, because the system may interrupt one of them
		n *= 2
	}
	rounds := make([]time.Duration, callRounds)
	for i := range rounds {
		rounds[i] = several(do, n)
	}
	return median(rounds) / time.Duration(n)
}

func several(do func(i int), n int) time.Duration {
	start := time.Now()
	for i := range n {
		do(i % failureTexts)
	}
	return time.Since(start)
}

// allocations returns the number of memory allocations in a call. The count of one round also
// includes allocations of other goroutines. So the result is the smallest count of several rounds.
func allocations(do func(i int)) int64 {
	least := int64(math.MaxInt64)
	for range 10 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		several(do, failureTexts)
		runtime.ReadMemStats(&after)
		least = min(least, int64(after.Mallocs-before.Mallocs)/failureTexts)
	}
	return least
}

package decide_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
)

// FuzzOutcome checks that the store accepts every outcome, whatever data the database has and
// whatever the handler returns. It also checks that the same input gives the same outcome.
func FuzzOutcome(f *testing.F) {
	memo := outcomeOf(&decide.Input{Policy: policy.Default(), Claim: aClaim(), Ending: &job.Ending{Err: errors.New("EOF"), How: job.ByError}}).Memo
	f.Add(memo, []byte(`{"max_retries":2,"waits":["1m","5m"]}`), "read tcp 10.0.0.7:40000: connection reset by peer", "E7", []byte("frame 3"),
		uint8(0), uint8(0), uint8(0), int32(1), int64(0), int64(time.Second), int64(70))
	f.Add([]byte{1, 2, 3}, []byte(`{`), "429 too many requests", "", []byte{0xff},
		uint8(1), uint8(1), uint8(1), int32(4), int64(3_000_000), int64(time.Hour), int64(job.CostMax))
	f.Add([]byte(nil), []byte(`{"retry":false,"max_cost":1}`), "", "NO\x00CODE\xff", []byte(nil),
		uint8(2), uint8(3), uint8(2), int32(1<<30), int64(-5), int64(0), int64(0))
	f.Add(memo, []byte(nil), "password=hunter22hunter22", "C", []byte("token=sk-1234567890abcdef1234567890abcdef"),
		uint8(3), uint8(4), uint8(3), int32(0), int64(1<<62), int64(1<<62), int64(1))
	for how := range uint8(2) { // add texts that are longer than all limits, once with the setting KeepRaw and once without
		f.Add(memo, []byte(nil), strings.Repeat("long ", 5_000), strings.Repeat("C", 400), bytes.Repeat([]byte("x"), 70_000),
			how*keepRaw, uint8(0), 4+how, int32(1), int64(0), int64(0), int64(0))
	}
	policies := []*policy.Policy{policy.Default()}
	for _, name := range preset.Names() {
		text, _ := preset.Text(name)
		parsed, err := policyfile.Parse(name, text)
		if err != nil {
			f.Fatal(err)
		}
		policies = append(policies, parsed.Policy)
	}
	hows := []job.How{job.ByError, job.ByPanic, job.ByTimeout, ""}
	f.Fuzz(func(t *testing.T, memo, override []byte, message, code string, stderr []byte,
		how, stop, mark uint8, attempts int32, deadline, elapsed, cost int64) {
		claim := aClaim()
		claim.Memo, claim.Override, claim.Deadline = memo, override, job.Micros(deadline)
		claim.Counters = job.Counters{Attempts: max(attempts, 0)}
		end := job.Ending{
			Err: marked(mark, failure.Code(code, errors.New(message), "text", message, "at", deadline), time.Duration(deadline)),
			How: hows[int(how%keepRaw)%len(hows)], Stopped: job.Stop(stop % 5), Stderr: stderr[:min(len(stderr), job.EvidenceMax)],
			Elapsed: time.Duration(max(elapsed, 0)), Cost: min(max(cost, 0), job.CostMax),
		}
		for i, p := range policies {
			in := decide.Input{Policy: p, Claim: claim, Ending: &end, Settings: decide.Settings{KeepRaw: how >= keepRaw}}
			first := outcomeOf(&in)
			if err := first.Validate(); err != nil {
				t.Errorf("policy %d: the store would refuse the outcome, want a valid one: %v", i, err)
			}
			if diff := cmp.Diff(first, outcomeOf(&in)); diff != "" {
				t.Errorf("policy %d: the same input gave two different outcomes (-first +second):\n%s", i, diff)
			}
			claim := *claim // a copy, which the next line changes to the claim of the next run
			claim.Token, claim.Memo = claim.Token+1, first.Memo
			next := outcomeOf(&decide.Input{Policy: p, Claim: &claim, Ending: &end})
			if err := next.Validate(); err != nil {
				t.Errorf("policy %d: the store would refuse the outcome of the next run, want a valid one: %v", i, err)
			}
		}
	})
}

// keepRaw is one bit of the fuzzed argument how. If this bit is set, the outcome keeps its texts
// unchanged.
const keepRaw = 128

// marked returns an error with one of the marks that package failure defines.
func marked(mark uint8, err error, d time.Duration) error {
	switch mark % 8 {
	case 1:
		return failure.RetryAfter(d, err)
	case 2:
		return failure.Permanent(err)
	case 3:
		return failure.Snooze(d)
	case 4:
		return failure.WithClass(failure.Class(err.Error()), err)
	case 5:
		return failure.Cancel(err.Error())
	case 6:
		return failure.DependencyDown(err.Error(), err)
	case 7:
		return failure.HandOver(d, err.Error(), err)
	}
	return err
}

// outcomeOf returns the outcome for an input. It ignores the error about settings that cannot
// be read.
func outcomeOf(in *decide.Input) job.Outcome {
	o, _ := decide.Outcome(in)
	return o
}

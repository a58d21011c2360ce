package policy_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

func TestMemo_CountsFailuresByClass(t *testing.T) {
	t.Parallel()
	p := compile(t, policy.Spec{Name: "test", Default: policy.Settings{MaxRetries: new(90), Backoff: fixed(1, 60)}})
	var classes []failure.Class
	for i := range 40 {
		class := failure.Class(fmt.Sprintf("Class%d", i))
		if i%2 == 0 {
			class = "Even"
		}
		classes = append(classes, class)
	}
	in := *failed("")
	in.Age = time.Hour
	all := life(p, in, classes...)
	m := all[len(all)-1].Memo
	if len(all) != 40 || m.Count("Even") != 20 || m.Failures() != 40 || m.Previous != time.Minute || m.FirstAge != time.Hour {
		t.Errorf("got %d decisions, %d failures of the class Even, %d failures in all, the previous wait %v and the first failure at the age %v; want 40 decisions, 20 failures of Even, 40 failures in all, the wait 1m and the age 1h", len(all), m.Count("Even"), m.Failures(), m.Previous, m.FirstAge)
	}
	// 15 other classes have a separate count in the memo. The last five classes share one
	// count.
	if m.Count("Class1") != 1 || m.Count("Class39") != 5 || m.Count("Never") != 5 {
		t.Errorf("the counts of the classes Class1, Class39 and Never are %d, %d and %d, want 1, 5 and 5", m.Count("Class1"), m.Count("Class39"), m.Count("Never"))
	}
	// With this failure the shared count is five, so the decision is about retry 5.
	if d := all[39]; d.N != 5 {
		t.Errorf("failure of a class without a separate count: got retry number %d, want 5", d.N)
	}
}

// Decorrelated jitter continues from the wait that the back-off gave, not from the longer
// wait of a hint.
func TestMemo_PreviousWaitIsThatOfTheBackoff(t *testing.T) {
	t.Parallel()
	p := compile(t, policy.Spec{Name: "test", Default: policy.Settings{Backoff: fixed(7)}})
	in := failed("Own")
	in.Evidence.RetryAfter = time.Hour
	if d := p.Decide(in); d.Memo.Previous != 7*time.Second || d.Wait < time.Hour {
		t.Errorf("the memo has the previous wait %v and the job waits %v, want 7s and at least 1h", d.Memo.Previous, d.Wait)
	}
}

// With decorrelated jitter, each wait of a life depends on the previous wait.
func TestMemo_DecorrelatedJitterGoesOn(t *testing.T) {
	t.Parallel()
	p := compile(t, policy.Spec{Name: "test", Default: policy.Settings{MaxRetries: new(4), Backoff: &backoff.Backoff{
		Formula: backoff.Exponential, First: time.Second, Cap: time.Hour, Jitter: backoff.Decorrelated}}})
	in := *failed("")
	in.U = 0.5 // with this random number, the wait is in the middle between 1 s and three times the previous wait
	all := life(p, in, repeat("Own", 5)...)
	if diff := cmp.Diff(seconds(2, 3.5, 5.75, 9.125), waits(all)); diff != "" {
		t.Errorf("wrong waits (-want +got):\n%s", diff)
	}
}

func TestMemo_IsSmall(t *testing.T) {
	t.Parallel()
	all := life(policy.Default(), *failed(""), failure.NetworkTimeout, failure.RateLimitExceeded)
	if b := all[1].Memo.Append(nil); len(b) > 60 {
		t.Errorf("the memo has %d bytes, want at most 60: %q", len(b), b)
	}
	if b := (&policy.Memo{}).Append(nil); b != nil {
		t.Errorf("the memo of a life without failures is encoded as %q, want nothing", b)
	}
}

func TestMemo_DamagedOrOfAnotherFormatIsEmpty(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{"v":3}`, `{"v":1`, `{}`, "\x01\x02", "\x03abc", "\x02", "\x02\x02", "x"} {
		if m := policy.ParseMemo([]byte(bad)); m != (policy.Memo{}) {
			t.Errorf("ParseMemo decoded the damaged memo %q as %+v, want the zero value", bad, m)
		}
	}
}

func FuzzParseMemo(f *testing.F) {
	all := life(policy.Default(), *failed(""), failure.NetworkTimeout, failure.RateLimitExceeded, "Own")
	f.Add(all[2].Memo.Append(nil))
	f.Add([]byte{1, 2, 3})
	p := policy.Default()
	f.Fuzz(func(t *testing.T, b []byte) {
		m := policy.ParseMemo(b)
		once := m.Append(nil)
		again := policy.ParseMemo(once)
		if again != m || !bytes.Equal(again.Append(nil), once) {
			t.Errorf("ParseMemo decoded %q as %+v; after encoding and decoding this memo again it was %+v, want no change", b, m, again)
		}
		in := failed(failure.NetworkTimeout)
		in.Memo = m
		d := p.Decide(in)
		if d.Action != policy.Retry && d.Rule != policy.RuleExhausted || d.Wait < 0 {
			t.Errorf("the memo %q led to the decision %s, want a retry or the end of the retries", b, d.Record())
		}
		if next := policy.ParseMemo(d.Memo.Append(nil)); next != d.Memo {
			t.Errorf("the memo %+v became %+v after encoding and decoding, want no change", d.Memo, next)
		}
	})
}

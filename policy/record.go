package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
)

// recordVersion is the format of a stored decision.
const recordVersion = 1

// Record is a decision as it is stored with the failure that it answers.
type Record struct {
	V       int           `json:"v"`
	Action  string        `json:"action"`
	Rule    string        `json:"rule"`
	Class   failure.Class `json:"class"`
	Verdict Verdict       `json:"verdict"`
	N       int           `json:"n,omitempty"`       // number of the coming retry, from 1
	Of      int           `json:"of,omitempty"`      // retries that the schedule has
	Wait    int64         `json:"wait_us,omitempty"` // microseconds
	Hint    int64         `json:"hint_us,omitempty"` // microseconds
	Reason  string        `json:"reason"`            // in words
}

// Record returns the decision as it is stored, in JSON.
func (d *Decision) Record() []byte {
	b, err := json.Marshal(Record{
		V: recordVersion, Action: d.Action.String(), Rule: d.Rule, Class: d.Class, Verdict: d.Verdict,
		N: d.N, Of: d.Of, Wait: d.Wait.Microseconds(), Hint: d.Hint.Microseconds(), Reason: d.Explain(),
	})
	if err != nil {
		panic("policy: a decision holds nothing that could not be encoded: " + err.Error())
	}
	return b
}

// ParseRecord reads a stored decision. It returns an error for one that is
// damaged or of a newer version.
func ParseRecord(b []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("stored decision: %w", err)
	}
	if r.V != recordVersion {
		return Record{}, fmt.Errorf("stored decision: format %d, this program reads %d", r.V, recordVersion)
	}
	return r, nil
}

// Explain says in words what was decided and why.
func (d *Decision) Explain() string {
	switch d.Rule {
	case RuleSuccess:
		return "the handler succeeded"
	case RuleSnooze:
		return fmt.Sprintf("the handler asked to run again in %s; no attempt burned", short(d.Wait))
	case RuleCancel:
		return "the handler cancelled the job"
	case RulePermanent:
		return "dead at once: the error is marked as permanent"
	case RuleCancelAsked:
		return "cancelled by a person while it was running"
	case RuleShutdown:
		return "handed back by a stopping worker; no attempt burned"
	case RuleExitCode:
		return "dead at once: the exit code is one of the permanent ones"
	case RuleExhausted:
		if d.Of == 0 {
			return "dead: the kind is not retried"
		}
		return fmt.Sprintf("dead: the retries are used up, %d of %d", d.Of, d.Of)
	case RuleCeilingReached:
		return "dead: the ceiling on attempts of one life is reached"
	case RuleTooOld:
		return "dead: the next attempt would come after the age at which a life ends"
	}
	return d.explainRetry()
}

func (d *Decision) explainRetry() string {
	var b strings.Builder
	fmt.Fprintf(&b, "retry %d of %d in %s", d.N, d.Of, short(d.Wait))
	switch {
	case d.Hint > 0 && d.Hint >= d.Wait:
		b.WriteString(": the other side asked for this wait")
	case d.Hint > 0:
		fmt.Fprintf(&b, ": the schedule waits longer than the %s that the other side asked for", short(d.Hint))
	}
	return b.String()
}

// short writes a duration without the zero units at its end: 5m, not 5m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Question describes a failure, so that a policy can decide about it. It needs no stored
// job.
type Question struct {
	Kind, Queue, Owner string
	Priority           int
	// Attempt is the number of the failed attempt, from 1. All earlier attempts are assumed
	// to have failed in the same way.
	Attempt  int
	Evidence failure.Evidence
	How      job.How
	Stop     policy.Stop
	Attrs    []byte // the attributes of the job as a JSON object, or nil
	Payload  []byte // the payload of the job, or nil
	// Draw is the random number for the jitter, at least 0 and less than 1. If it is nil,
	// 0.5 is used, and the answer also contains the range of the wait.
	Draw *float64
}

// Ruling is the answer to a Question: the decision of a policy.
type Ruling struct {
	Kind    string `json:"kind,omitempty"`
	Attempt int    `json:"attempt"` // number of the attempt that the decision is about
	// Asked is the attempt in the question. It is set if the job would end before that
	// attempt.
	Asked     int               `json:"asked_attempt,omitempty"`
	Held      string            `json:"held,omitempty"` // the reason why the job would not run at all
	Rules     []string          `json:"rules,omitempty"`
	Queue     string            `json:"queue,omitempty"` // the queue to which the rules send the job
	Priority  int               `json:"priority,omitempty"`
	Overrides map[string]string `json:"overrides,omitempty"`
	Failed    []string          `json:"failed_rules,omitempty"`
	// Would describes what the rules would do. It is set if the policy only observes.
	Would    string          `json:"rules_would,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Facts    []policy.Fact   `json:"facts,omitempty"`
	Draw     *DrawRange      `json:"draw,omitempty"`
	Message  string          `json:"message,omitempty"`
	Users    string          `json:"user_message,omitempty"`
	Operator string          `json:"operator,omitempty"`

	Reason string `json:"-"` // the decision in one line of text
}

// DrawRange is the range of a wait with jitter.
type DrawRange struct {
	U    float64 `json:"u"` // random number that was used for the decision
	Low  int64   `json:"low_ms"`
	High int64   `json:"high_ms"`
}

// middle is the random number that is used if the question has none. almostOne is the
// largest possible random number.
const middle, almostOne = 0.5, 1 - 1.0/(1<<53)

// wouldDo describes what the rules would do if the policy did not only observe.
func wouldDo(a *policy.Admission) string {
	if a == nil {
		return ""
	}
	var does []string
	if a.Hold != nil {
		does = append(does, "hold the job before it runs")
	}
	if a.Queue != "" {
		does = append(does, "send it to queue "+a.Queue)
	}
	if a.Priority > 0 {
		does = append(does, fmt.Sprintf("give it priority %d", a.Priority))
	}
	for _, key := range slices.Sorted(maps.Keys(a.Overrides)) {
		does = append(does, "hand "+key+"="+a.Overrides[key]+" to the handler")
	}
	if len(does) == 0 {
		return ""
	}
	return strings.Join(does, ", ") + "; the policy only observes"
}

// Ask returns the decision of the policy about the question.
func (q *Question) Ask(p *policy.Policy) Ruling {
	a := Ruling{Kind: q.Kind}
	q.Evidence.Code = cmp.Or(q.Evidence.Code, p.Code(&policy.CodeInput{
		Kind: q.Kind, Evidence: &q.Evidence, How: q.How, Stop: q.Stop, Payload: q.Payload,
	}))
	admission := p.Admit(&policy.RuleInput{
		Kind: q.Kind, Queue: q.Queue, Owner: q.Owner, Priority: q.Priority, Attrs: q.Attrs,
	})
	if admission != nil {
		a.Rules, a.Queue, a.Priority, a.Overrides = admission.Rules, admission.Queue, admission.Priority, admission.Overrides
		for _, problem := range admission.Failed {
			a.Failed = append(a.Failed, problem.String())
		}
		a.Would = wouldDo(admission.Would)
		if admission.Hold != nil {
			a.Attempt, a.Users = 1, admission.Hold.Message
			a.Held = "a rule holds the job before it runs, until a person decides: " + strings.Join(admission.Rules, ", ")
			return a
		}
	}
	u := middle
	if q.Draw != nil {
		u = *q.Draw
	}
	d, attempt := q.decide(p, admission, u)
	record, err := policy.ParseRecord(d.Record())
	if err != nil {
		panic("cannot read the record of a decision: " + err.Error())
	}
	if a.Attempt = attempt; attempt != q.Attempt {
		a.Asked = q.Attempt
	}
	a.Decision, a.Facts, a.Reason = d.Record(), record.Facts(), record.Reason()
	if q.Draw == nil {
		a.Draw = q.drawn(p, admission, &d)
	}
	a.Message = failure.Sanitize(q.Evidence.Message, operatorView)
	info := p.Info(d.Class)
	a.Operator, a.Users = info.Operator, info.Dead
	if d.Action == policy.Retry {
		a.Users = info.Retrying
	}
	return a
}

// drawn returns the range of the waits that the random number can produce. It returns nil
// if the random number makes no difference.
func (q *Question) drawn(p *policy.Policy, a *policy.Admission, d *policy.Decision) *DrawRange {
	low, _ := q.decide(p, a, 0)
	high, _ := q.decide(p, a, almostOne)
	if d.Action != policy.Retry || low.Wait == high.Wait {
		return nil
	}
	return &DrawRange{U: middle, Low: low.Wait.Milliseconds(), High: high.Wait.Milliseconds()}
}

// decide returns the decision about the last attempt for the random number u, and the
// number of that attempt. This number is smaller than the asked one if the job ends before
// the asked attempt.
func (q *Question) decide(p *policy.Policy, a *policy.Admission, u float64) (d policy.Decision, attempt int) {
	in := policy.Input{Kind: q.Kind, Evidence: &q.Evidence, How: q.How, Stop: q.Stop, Admission: a, U: middle}
	in.Class = sanitised(p.Classify(&q.Evidence, q.Kind))
	for attempt = 1; ; attempt++ {
		in.Attempts = attempt - 1
		if attempt == q.Attempt {
			in.U = u
		}
		d = p.Decide(&in)
		if attempt == q.Attempt || d.Action != policy.Retry {
			return d, attempt
		}
		in.Memo, in.Age = d.Memo, in.Age+d.Wait
	}
}

// operatorView leaves the paths and addresses that a person has given.
var operatorView = &failure.SanitizeOptions{KeepPaths: true, KeepAddresses: true}

// sanitised removes secrets from the texts that a classification contains.
func sanitised(c classify.Classification) classify.Classification {
	c.Saw = failure.Sanitize(c.Saw, operatorView)
	for i := range c.Outranked {
		c.Outranked[i].Saw = failure.Sanitize(c.Outranked[i].Saw, operatorView)
	}
	c.Weighing.Quoted(func(words string) string { return failure.Sanitize(words, operatorView) })
	return c
}

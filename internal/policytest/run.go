package policytest

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/policy"
)

// Difference is one expectation that was not met.
type Difference struct {
	Field string `json:"field"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// Result is the result of one case.
type Result struct {
	Name        string       `json:"name"`
	Line        int          `json:"line"`
	Differences []Difference `json:"differences,omitempty"`
	Decision    string       `json:"decision"` // in one line
	Class       string       `json:"class"`    // with the rule that found it; "" if the job is held
}

// Report is the result of a file of cases.
type Report struct {
	File   string   `json:"file"`
	Policy string   `json:"policy"` // name of the policy that was tested
	Hash   string   `json:"hash"`
	Cases  int      `json:"cases"`
	Failed []Result `json:"failed"`
}

// Run asks the policy about a case.
func (c *Case) Run(p *policy.Policy) Result {
	q := c.question
	a := q.Ask(p)
	r := Result{Name: c.Name, Line: c.Line, Decision: cmp.Or(a.Held, a.Reason)}
	if r.Name == "" {
		r.Name = "line " + strconv.Itoa(c.Line)
	}
	var got policy.Record
	decision := "hold"
	if a.Held == "" {
		var err error
		if got, err = policy.ParseRecord(a.Decision); err != nil {
			panic("cannot read the record of a decision: " + err.Error())
		}
		decision = got.Action
		for _, f := range a.Facts {
			if f.Name == "class" {
				r.Class = f.Text
			}
		}
	}
	differ := func(field, want, got string) {
		if want != "" && want != got {
			r.Differences = append(r.Differences, Difference{field, want, cmp.Or(got, "none")})
		}
	}
	w := &c.Want
	differ("class", w.Class, string(got.Class))
	differ("decision", w.Decision, decision)
	differ("code", w.Code, got.Code)
	differ("reason", w.Reason, got.Dead)
	differ("rule", w.Rule, got.By)
	differ("queue", w.Queue, cmp.Or(got.Queue, a.Queue, q.Queue))
	if w.Retries != nil {
		differ("retries", strconv.Itoa(*w.Retries), strconv.Itoa(got.Of))
	}
	if w.HasWait {
		low, high := time.Duration(got.Wait)*time.Microsecond, time.Duration(got.Wait)*time.Microsecond
		if d := a.Draw; d != nil {
			low, high = time.Duration(d.Low)*time.Millisecond, time.Duration(d.High)*time.Millisecond
		}
		switch {
		case decision != "retry":
			differ("wait", human.Duration(w.Wait), "none")
		case w.Wait < low || w.Wait > high:
			shown := human.Duration(low)
			if high > low {
				shown = fmt.Sprintf("%s to %s", shown, human.Duration(high.Round(10*time.Millisecond)))
			}
			differ("wait", human.Duration(w.Wait), shown)
		}
	}
	return r
}

// Package policytest checks what a policy decides about errors against what their owner expects:
// a file of cases, each with an error, its job, and the expected class and decision.
package policytest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// CasesMax is the largest number of cases in a file.
const CasesMax = 10_000

// File is a file of cases.
type File struct {
	Policy string // the policy as the file names it: a file, or a preset such as "preset:render"; "" if it names none
	Cases  []Case
}

// Case is one error and what is expected of the policy.
type Case struct {
	Name string
	Line int // where the case begins in the file
	Want Want

	question wire.Question
}

// Want contains what is expected. An empty field means that anything is right.
type Want struct {
	Class    string
	Decision string
	Code     string
	Reason   string // of a job that dies
	Rule     string // that found the class
	Queue    string
	Wait     time.Duration // a wait that the back-off can give
	HasWait  bool
	Retries  *int // allowed for the class
}

var about = yamlfile.About{
	Noun: "a file of tests", Example: "cases: [{error: connection refused, expect: {class: TemporaryServiceError}}]",
	Start: "write at least one case under cases", Depth: 8, Days: true,
}

// Parse reads a file. The error is yamlfile.Problems, with all mistakes of the file.
func Parse(name string, data []byte) (*File, error) {
	r := &reader{yamlfile.NewReader(name, about)}
	f := &File{}
	if root, ok := r.Parse(data); ok {
		r.Fields(root, "a mapping such as {policy: policy.yaml, cases: […]}", []yamlfile.Field{
			{Key: "policy", Read: r.NonEmpty(&f.Policy)},
			{Key: "cases", Read: func(v yamlfile.Value) { f.Cases = r.cases(v) }},
		})
		if len(f.Cases) == 0 && r.Err() == nil {
			r.Addf(root.Pos, "the file has no cases; %s, such as %s", about.Start, about.Example)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

type reader struct{ *yamlfile.Reader }

func (r *reader) cases(v yamlfile.Value) (cases []Case) {
	if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.List, "a list of cases such as [{error: connection refused, expect: {class: TemporaryServiceError}}]") {
		return nil
	}
	if len(v.Items) > CasesMax {
		r.Addf(v.Items[CasesMax].Pos, "%s must hold at most %d cases, found %d", v.Path, CasesMax, len(v.Items))
		return nil
	}
	for i := range v.Items {
		cases = append(cases, r.one(v.Item(i)))
	}
	return cases
}

// given holds the values of a case that need a conversion.
type given struct {
	error, signal, code string
	status, exit        int
	timeout             bool
	hasExit, any        bool
}

func (r *reader) one(v yamlfile.Value) Case {
	c := Case{Line: v.Pos.Line, question: wire.Question{Queue: "default", Priority: job.PriorityDefault, Attempt: 1, How: job.ByError}}
	var g given
	q := &c.question
	is := func(read func(yamlfile.Value)) func(yamlfile.Value) {
		return func(v yamlfile.Value) { g.any = true; read(v) }
	}
	r.Fields(v, "a mapping such as {error: connection refused, expect: {class: TemporaryServiceError}}", []yamlfile.Field{
		{Key: "name", Read: r.NonEmpty(&c.Name)},
		{Key: "error", Read: is(r.Words(&g.error))},
		{Key: "status", Read: is(r.Integer(&g.status, 100, 599, ""))},
		{Key: "exit_code", Read: is(func(v yamlfile.Value) { g.hasExit = true; r.Integer(&g.exit, 0, 255, "")(v) })},
		{Key: "signal", Read: is(r.NonEmpty(&g.signal))},
		{Key: "code", Read: is(r.Words(&g.code))},
		{Key: "timeout", Read: is(r.Boolean(&g.timeout))},
		{Key: "kind", Read: r.NonEmpty(&q.Kind)},
		{Key: "queue", Read: r.NonEmpty(&q.Queue)},
		{Key: "owner", Read: r.NonEmpty(&q.Owner)},
		{Key: "priority", Read: r.Integer(&q.Priority, job.PriorityMin, job.PriorityMax, "")},
		{Key: "attempt", Read: r.Integer(&q.Attempt, 1, policy.MaxAttemptsLimit, "")},
		{Key: "attrs", Read: func(v yamlfile.Value) { q.Attrs = r.object(v) }},
		{Key: "payload", Read: func(v yamlfile.Value) { q.Payload = encode(v.Node) }},
		{Key: "expect", Read: func(v yamlfile.Value) { r.want(v, &c.Want) }},
	})
	if v.Shape != yamlfile.Mapping {
		return c
	}
	if !g.any {
		r.Addf(v.Pos, "%s says nothing about an error; add error, status, exit_code, signal, code or timeout", v.Path)
	}
	if want := v.Get("expect"); want == nil || len(want.Entries) == 0 {
		r.Addf(v.Pos, "%s expects nothing; add expect: {class: …, decision: retry}", v.Path)
	}
	g.into(q)
	return c
}

// into sets the evidence of a question.
func (g *given) into(q *wire.Question) {
	e := &q.Evidence
	if g.error != "" {
		*e = failure.Of(errors.New(g.error))
	}
	e.HTTPStatus, e.Signal, e.Code, e.ServiceCode = g.status, g.signal, g.code, g.code
	if g.hasExit {
		e.Exit = &g.exit
	}
	if g.timeout {
		q.How, q.Stop = job.ByTimeout, policy.TimeLimit
	}
}

func (r *reader) want(v yamlfile.Value, w *Want) {
	decisions := []string{"retry", "dead", "hold"}
	r.Fields(v, "a mapping such as {class: NetworkTimeout, decision: retry, wait: 30s}", []yamlfile.Field{
		{Key: "class", Read: r.NonEmpty(&w.Class)},
		{Key: "decision", Read: yamlfile.Choice(r.Reader, &w.Decision, decisions, decisions)},
		{Key: "code", Read: r.NonEmpty(&w.Code)},
		{Key: "reason", Read: r.NonEmpty(&w.Reason)},
		{Key: "rule", Read: r.NonEmpty(&w.Rule)},
		{Key: "queue", Read: r.NonEmpty(&w.Queue)},
		{Key: "wait", Read: func(v yamlfile.Value) { w.HasWait = true; r.Duration(&w.Wait, 0, 365*24*time.Hour)(v) }},
		{Key: "retries", Read: func(v yamlfile.Value) {
			w.Retries = new(int)
			r.Integer(w.Retries, 0, policy.MaxAttemptsLimit-1, "")(v)
		}},
	})
}

// object reads a mapping as a JSON object.
func (r *reader) object(v yamlfile.Value) []byte {
	if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.Mapping, "a mapping such as {duration_seconds: 7200}") {
		return nil
	}
	return encode(v.Node)
}

// encode returns a value as JSON.
func encode(n *yamlfile.Node) []byte {
	b, err := json.Marshal(plain(n))
	if err != nil {
		panic("encode a value of a YAML file as JSON: " + err.Error())
	}
	return b
}

func plain(n *yamlfile.Node) any {
	switch n.Shape {
	case yamlfile.Text:
		return n.Text
	case yamlfile.Bool:
		return n.Text == "true"
	case yamlfile.Number:
		if json.Valid([]byte(n.Text)) {
			return json.Number(n.Text)
		}
		return n.Text
	case yamlfile.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = plain(item)
		}
		return list
	case yamlfile.Mapping:
		object := map[string]any{}
		for _, e := range n.Entries {
			object[e.Key] = plain(e.Value)
		}
		return object
	case yamlfile.Null, yamlfile.Invalid:
	}
	return nil
}

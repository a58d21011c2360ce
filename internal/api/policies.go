package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// PolicyOut is a policy.
type PolicyOut struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	// At and By are when and by whom it was first published; they are left out for a policy that no process has published.
	At job.Micros `json:"at,omitempty"`
	By string     `json:"by,omitempty"`
	// Source is the policy file.
	Source string `json:"source,omitempty"`
}

// PolicyList is a list of policies, the newest first.
type PolicyList struct {
	Items []redrive.StoredPolicy `json:"items"`
}

// QuestionIn is a failure about which a policy is asked. Give error, evidence, status or exit_code.
type QuestionIn struct {
	// Error is the text of an error.
	Error string `json:"error,omitempty" jsonschema:"maxLength=65536"`
	// Evidence is what a worker knows of a failure: failure.Evidence as JSON, version 1.
	Evidence *failure.Evidence `json:"evidence,omitempty"`
	Status   int               `json:"status,omitempty"`    // HTTP status of the other side
	ExitCode *int              `json:"exit_code,omitempty"` // exit code of a program
	// How says how the run failed: error, panic or timeout.
	How   string `json:"how,omitempty" jsonschema:"enum=error,enum=panic,enum=timeout"`
	Kind  string `json:"kind,omitempty" jsonschema:"maxLength=64"`
	Queue string `json:"queue,omitempty" jsonschema:"maxLength=64"`
	Owner string `json:"owner,omitempty" jsonschema:"maxLength=256"`
	// Attempt is the number of the failed attempt, from 1.
	Attempt int             `json:"attempt,omitempty" jsonschema:"minimum=1"`
	Attrs   json.RawMessage `json:"attrs,omitempty"`
	// Draw is the random number for the jitter, at least 0 and below 1.
	Draw *float64 `json:"draw,omitempty"`
}

func (a *API) currentPolicy(c *Call) error {
	p := a.client.Policy()
	out := PolicyOut{Name: p.Name(), Hash: p.Hash(), Source: string(p.Source())}
	stored, err := a.client.StoredPolicy(c.Context(), p.Hash())
	switch {
	case err == nil:
		out.At, out.By = stored.At, stored.By
	case !errors.Is(err, redrive.ErrNotFound):
		return err
	}
	return c.JSON(http.StatusOK, out)
}

func (a *API) listPolicies(c *Call) error {
	list, err := a.client.StoredPolicies(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, PolicyList{append([]redrive.StoredPolicy{}, list...)})
}

func (a *API) storedPolicy(c *Call) error {
	p, err := a.client.StoredPolicy(c.Context(), c.R.PathValue("hash"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, PolicyOut{Name: p.Name, Hash: p.Hash, At: p.At, By: p.By, Source: string(p.Body)})
}

// mediaYAML is the media type of a policy file.
const mediaYAML = "application/yaml"

// checkPolicy checks a policy file.
func (a *API) checkPolicy(c *Call) error {
	media, err := c.mediaType()
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem
	}
	if c.R.Header.Get("Content-Type") != "" && (err != nil || media != mediaYAML && media != "text/yaml" && media != "application/x-yaml" && media != "text/plain") {
		return UnsupportedMediaType.New("The body must be a policy file of the type %s.", mediaYAML)
	}
	text, err := c.read(BodyMax)
	if err != nil {
		return err
	}
	out := wire.PolicyCheck{File: "body", Problems: []wire.Problem{}}
	f, err := policyfile.Parse("body", text)
	found, ok := errors.AsType[policyfile.Problems](err)
	switch {
	case ok:
		for _, p := range found {
			out.Problems = append(out.Problems, wire.Problem{File: p.File, Line: p.Line, Col: p.Col, Message: p.Message})
		}
	case err != nil:
		return InvalidField.New("%s", err)
	default:
		spec := f.Spec
		spec.Source = policyfile.Render(&f.Spec)
		p, problems := policy.New(spec)
		for _, problem := range problems {
			out.Problems = append(out.Problems, wire.Problem{File: "body", Line: 1, Col: 1, Message: fmt.Sprint(problem)})
		}
		if len(problems) == 0 {
			out.Policy, out.Hash, out.Notes = p.Name(), p.Hash(), spec.Notes()
		}
	}
	return c.JSON(http.StatusOK, out)
}

// explainPolicy answers what the policy of this server would decide about a failure.
func (a *API) explainPolicy(c *Call) error {
	in := QuestionIn{Attempt: 1}
	if err := c.Read(&in, false); err != nil {
		return err
	}
	r, err := a.Ask(&in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, r)
}

// Ask returns what the policy of this server would decide about a failure. The error is a *Problem
// with all mistakes of the question.
func (a *API) Ask(in *QuestionIn) (r wire.Ruling, err error) {
	q := wire.Question{Kind: in.Kind, Queue: in.Queue, Owner: in.Owner, Attempt: in.Attempt, Attrs: in.Attrs, Draw: in.Draw, How: job.ByError}
	var wrong []Mistake
	check := func(ok bool, pointer string, bound any, detail string) {
		if !ok {
			wrong = append(wrong, Mistake{Pointer: pointer, Detail: detail, Bound: bound})
		}
	}
	check(in.Error != "" || in.Evidence != nil || in.Status != 0 || in.ExitCode != nil || in.How == "timeout", "", nil, "give error, evidence, status, exit_code, or how: timeout")
	check(in.Error == "" || in.Evidence == nil, "/evidence", nil, "contradicts error: give one of them")
	check(len(in.Error) <= job.EvidenceMax, "/error", job.EvidenceMax, fmt.Sprintf("must have at most %d bytes; send the end of the text, which usually names the cause", job.EvidenceMax))
	check(in.Status == 0 || in.Status >= 100 && in.Status <= 599, "/status", 599, "must be 100 to 599")
	check(in.ExitCode == nil || *in.ExitCode >= 0 && int64(*in.ExitCode) <= 1<<32-1, "/exit_code", int64(1<<32-1), "must be 0 to 4294967295")
	check(in.Attempt >= 1 && in.Attempt <= policy.MaxAttemptsLimit, "/attempt", policy.MaxAttemptsLimit, fmt.Sprintf("must be 1 to %d", policy.MaxAttemptsLimit))
	check(in.Draw == nil || *in.Draw >= 0 && *in.Draw < 1, "/draw", 1, "must be 0 or more and below 1")
	check(len(in.Attrs) == 0 || in.Attrs[0] == '{' && len(in.Attrs) <= policy.AttrsMax, "/attrs", policy.AttrsMax, fmt.Sprintf("must be an object of at most %d bytes", policy.AttrsMax))
	switch in.How {
	case "", "error":
	case "panic":
		q.How = job.ByPanic
	case "timeout":
		q.How, q.Stop = job.ByTimeout, policy.TimeLimit
	default:
		check(false, "/how", nil, "must be error, panic or timeout")
	}
	if len(wrong) > 0 {
		return r, InvalidField.Mistaken(wrong...)
	}
	switch {
	case in.Evidence != nil:
		q.Evidence = *in.Evidence
	case in.Error != "":
		q.Evidence = failure.Of(errors.New(strings.TrimRight(in.Error, "\r\n")))
	}
	if in.Status != 0 {
		q.Evidence.HTTPStatus = in.Status
	}
	if in.ExitCode != nil {
		q.Evidence.Exit = in.ExitCode
	}
	return q.Ask(a.client.Policy()), nil
}

package golden_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
	"github.com/redrive/redrive/redrivetest"
)

// input is an error of a handler.
type input struct {
	key, text string
	err       error
}

type inputRow struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// inputs returns the labelled texts, and statuses and codes with a text that says nothing.
func inputs(t *testing.T) (all []input) {
	t.Helper()
	for _, name := range []string{"general.txt", "says.txt"} {
		data, err := os.ReadFile(filepath.Join("../../classify/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for l := range strings.Lines(string(data)) {
			n++
			_, text, labelled := strings.Cut(strings.TrimRight(l, "\r\n"), " | ")
			if !labelled || strings.HasPrefix(l, "#") {
				continue
			}
			text = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text)
			all = append(all, input{fmt.Sprintf("%s:%d", name, n), text, errors.New(text)})
		}
	}
	value := func(kind, v string, err error) {
		all = append(all, input{kind + ":" + v, err.Error(), err})
	}
	for s := 300; s < 600; s++ {
		if n := s % 100; n <= 31 || n == 51 || n >= 98 || s > 520 && s < 531 {
			value("status", fmt.Sprint(s), statusError(s))
		}
	}
	for s := range strings.FieldsSeq(`08001 08006 21000 22001 22P02 23502 23503 23505 23514 25006 28000 28P01 3D000
		40001 40P01 42501 42601 42P01 53100 53200 53300 53400 54000 55006 55P03 57014 57P01 57P03 58030 XX000`) {
		value("sqlstate", s, sqlError(s))
	}
	for s := range strings.FieldsSeq(`UNAVAILABLE DEADLINE_EXCEEDED RESOURCE_EXHAUSTED PERMISSION_DENIED UNAUTHENTICATED NOT_FOUND
		INVALID_ARGUMENT FAILED_PRECONDITION ABORTED INTERNAL DATA_LOSS UNIMPLEMENTED ALREADY_EXISTS OUT_OF_RANGE CANCELLED
		SlowDown Throttling ThrottlingException AccessDenied NoSuchKey NoSuchBucket ExpiredToken InvalidAccessKeyId RequestTimeout
		InternalError ServiceUnavailable SQLITE_BUSY SQLITE_FULL SQLITE_CONSTRAINT insufficient_quota rate_limit_exceeded
		context_length_exceeded invalid_api_key card_declined ECONNRESET ECONNREFUSED ENOSPC EMFILE EACCES ENOENT EAI_AGAIN ENOTFOUND`) {
		value("code", s, codeError(s))
		value("own", s, failure.Code(s, errPlain))
	}
	return all
}

// errPlain has a text that says nothing about the cause.
var errPlain = errors.New("the step did not end well")

type (
	statusError int
	sqlError    string
	codeError   string
)

func (statusError) Error() string     { return errPlain.Error() }
func (e statusError) HTTPStatus() int { return int(e) }
func (sqlError) Error() string        { return errPlain.Error() }
func (e sqlError) SQLState() string   { return string(e) }
func (codeError) Error() string       { return errPlain.Error() }
func (e codeError) ErrorCode() string { return string(e) }

func presetOf(name string) (*policyfile.File, error) {
	return policyfile.Parse(name+".yaml", []byte("extends: "+name+"\n"))
}

type policyRow struct {
	Key     string     `json:"key"`
	Name    string     `json:"name"`
	Hash    string     `json:"hash"`
	Source  string     `json:"source"`
	Classes []classRow `json:"classes"`
}

type classRow struct {
	Class    failure.Class   `json:"class"`
	Verdict  failure.Verdict `json:"verdict"`
	Retrying string          `json:"retrying"`
	Dead     string          `json:"dead"`
	Operator string          `json:"operator"`
}

// recordInputs records all inputs under all policies. Rows of one input are next to each other,
// because similar rows compress better.
func recordInputs(r *recording) {
	t := r.t
	all := inputs(t)
	policies := []*policy.Policy{policy.Default()}
	names := []string{"default"}
	for _, name := range preset.Names() {
		if name == "dev" {
			continue // its decisions are those of the default, with shorter waits; see TestDevIsTheDefaultWithShorterWaits
		}
		f, err := presetOf(name)
		if err != nil {
			t.Fatal(err)
		}
		policies, names = append(policies, f.Policy), append(names, name)
	}
	rows := make([][][]any, len(policies)) // the rows of each policy and, within it, of each input
	for i, p := range policies {
		recordPolicy(r, names[i], p)
		synctest.Test(t, func(t *testing.T) { rows[i] = runInputs(t, names[i], p, all) })
	}
	for i := range all {
		r.add(inputRow{all[i].key, all[i].text})
		for p := range policies {
			for _, row := range rows[p][i] {
				r.add(row)
			}
		}
	}
}

func recordPolicy(r *recording, name string, p *policy.Policy) {
	row := policyRow{Key: "policy " + name, Name: p.Name(), Hash: p.Hash(), Source: string(p.Source())}
	for _, class := range p.Classes() {
		info := p.Info(class)
		row.Classes = append(row.Classes, classRow{class, info.Verdict, info.Retrying, info.Dead, info.Operator})
	}
	r.add(row)
}

// runInputs runs a job for each input, with its retries, to the end of its life. It returns the
// rows of the jobs.
func runInputs(t *testing.T, name string, p *policy.Policy, all []input) [][]any {
	t.Helper()
	e := redrivetest.New(t, &redrive.Config{Policy: p, Queues: queues})
	kind := redrive.Kind[int]("golden")
	redrive.Handle(e.Client, kind, func(_ context.Context, j *redrive.Job[int]) error { return all[j.Args].err }, nil)
	specs, ids := make([]redrive.Spec, len(all)), make([]job.ID, len(all))
	for i := range specs {
		specs[i] = kind.New(i, nil)
	}
	receipts, err := e.EnqueueMany(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range receipts {
		ids[i] = receipts[i].ID
	}
	outcomes := map[job.ID][]redrivetest.Outcome{}
	workAll(t, e, outcomes, ids...)
	rows := make([][]any, len(all))
	for i, id := range ids {
		runs, end := rowsOf(t, e.Client, id, outcomes[id], all[i].key+" "+name, p.Hash())
		for n := range runs {
			if n < 2 || n == len(runs)-1 {
				rows[i] = append(rows[i], runs[n])
			}
		}
		rows[i] = append(rows[i], end)
	}
	return rows
}

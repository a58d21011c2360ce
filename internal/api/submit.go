package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/job"
)

// Receipt is the answer to the submit of one job.
type Receipt struct {
	ID job.ID `json:"id"`
	// Existing is true if a job with the same key or the same unique payload existed, so that no job was made.
	Existing bool      `json:"existing"`
	State    job.State `json:"state"`
	// Status is "skipped" if the existing job has completed.
	Status string `json:"status,omitempty"`
	// Reason is "already_processed" if the existing job has completed.
	Reason string `json:"reason,omitempty"`
}

func (a *API) kindNames() []string { return slices.Sorted(maps.Keys(a.o.Kinds)) }

// submit enqueues one job or an array of jobs.
func (a *API) submit(c *Call) error {
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	if c.hasLines() {
		if key != "" {
			return InvalidField.Mistaken(Mistake{Header: headerKey, Detail: "is not allowed with JSON lines; give each line a key"})
		}
		return a.submitLines(c)
	}
	body, err := c.Body()
	if err != nil {
		return err
	}
	r := &specReader{api: a, call: c, now: a.o.Now()}
	switch strictjson.Kind(body) {
	case '{':
		r.header = key
		return a.submitOne(c, r, body)
	case '[':
		if key != "" && c.R.Header.Get("X-Correlation-Id") == "" {
			c.Correlation = "" // a repeat has another traceparent, and would be another request
		}
		return a.submitMany(c, r, body, key)
	}
	return InvalidField.Mistaken(Mistake{Detail: "must be a job or an array of jobs"})
}

func (a *API) submitOne(c *Call, r *specReader, body []byte) error {
	spec := r.spec(body, "")
	if err := r.problem(); err != nil {
		return err
	}
	receipt, err := a.client.Enqueue(c.Context(), spec)
	if err != nil {
		return enqueueProblem(err, false)
	}
	return c.receipt(a, &receipt, r.header != "")
}

// receipt answers with the receipt of one job. Keyed says that the request has an Idempotency-Key.
func (c *Call) receipt(a *API, receipt *redrive.Receipt, keyed bool) error {
	status := http.StatusCreated
	if receipt.Existing {
		status = http.StatusOK
		if keyed {
			c.W.Header().Set("Idempotent-Replayed", "true")
		}
	} else {
		c.W.Header().Set("Location", a.o.Base+"/api/jobs/"+receipt.ID.String())
	}
	return c.Bytes(status, "application/json", append(appendReceipt(nil, receipt), '\n'))
}

// specs reads an array of jobs.
func (r *specReader) specs(body []byte) ([]redrive.Spec, error) {
	var specs []redrive.Spec
	n := 0
	strictjson.Elements(body, func(i int, value []byte) {
		if n++; n > JobsMax || len(r.mistakes) >= MistakesMax {
			return
		}
		if value[0] != '{' {
			r.add(InvalidField, Mistake{Pointer: "/" + strconv.Itoa(i), Detail: "must be a job: an object"})
			return
		}
		specs = append(specs, r.spec(value, "/"+strconv.Itoa(i)))
	})
	if n > JobsMax {
		return nil, TooLarge.Mistaken(Mistake{Detail: fmt.Sprintf("the array has %d jobs: at most %d are allowed; send JSON lines (%s) for more", n, JobsMax, MediaLines), Bound: JobsMax})
	}
	if n == 0 {
		return nil, InvalidField.Mistaken(Mistake{Detail: "the array is empty; send at least one job"})
	}
	return specs, r.problem()
}

func (a *API) submitMany(c *Call, r *specReader, body []byte, key string) error {
	specs, err := r.specs(body)
	if err != nil {
		return err
	}
	if key != "" {
		return a.submitKeyed(c, specs, body, key)
	}
	receipts, err := a.client.EnqueueMany(c.Context(), specs)
	if err != nil {
		return enqueueProblem(err, true)
	}
	status, answer := receiptsBody(receipts)
	return c.Bytes(status, "application/json", answer)
}

// receiptsBody returns the status and the body of the answer to an array.
func receiptsBody(receipts []redrive.Receipt) (int, []byte) {
	status := http.StatusOK
	answer := append(make([]byte, 0, 64*len(receipts)), '[')
	for i := range receipts {
		if !receipts[i].Existing {
			status = http.StatusCreated
		}
		if i > 0 {
			answer = append(answer, ',')
		}
		answer = appendReceipt(answer, &receipts[i])
	}
	return status, append(answer, "]\n"...)
}

// appendReceipt writes a Receipt as JSON. It is written by hand, because encoding/json takes a
// tenth of the time of an enqueue.
func appendReceipt(b []byte, r *redrive.Receipt) []byte {
	b = append(b, `{"id":"`...)
	b = strconv.AppendInt(b, int64(r.ID), 10)
	b = append(b, `","existing":`...)
	b = strconv.AppendBool(b, r.Existing)
	b = append(b, `,"state":"`...)
	b = append(append(b, r.State.String()...), '"')
	if r.Skipped() {
		b = append(b, `,"status":"`+job.StatusSkipped+`","reason":"`+job.AlreadyProcessed+`"`...)
	}
	return append(b, '}')
}

// enqueueProblem returns the problem for an error of an enqueue.
func enqueueProblem(err error, many bool) error {
	p := ProblemOf(err)
	if bad, ok := errors.AsType[*redrive.PayloadError](err); ok && many {
		p = payloadProblem(bad, "/"+strconv.Itoa(bad.Index)+"/payload")
		p.cause = err
		return p
	}
	conflict, ok := errors.AsType[*redrive.KeyConflict](err)
	if !ok {
		return p
	}
	at := ""
	if many {
		at = "/" + strconv.Itoa(conflict.Index)
	}
	p = KeyReused.Mistaken(Mistake{Pointer: at + "/key", Detail: plain(conflict)})
	p.Job = conflict.ID
	p.cause = err
	return p
}

const headerKey = "Idempotency-Key"

// idempotencyKey returns the key in the header: a string in quotes, or a bare one.
func (c *Call) idempotencyKey() (string, error) {
	values := c.R.Header.Values(headerKey)
	if len(values) == 0 {
		return "", nil
	}
	key, wrong := values[0], ""
	switch {
	case len(values) > 1:
		wrong = "is sent more than once; send one of them"
	case key == "":
		wrong = "is empty; leave it out, or send a key"
	case key[0] == '"':
		key, wrong = unquoteKey(key)
	}
	if wrong == "" && !isKey(key) {
		wrong = "must have printable ASCII characters only"
	}
	if wrong != "" {
		return "", InvalidField.Mistaken(Mistake{Header: headerKey, Detail: wrong})
	}
	if len(key) > KeyHeaderMax {
		return "", TooLarge.Mistaken(Mistake{Header: headerKey, Bound: KeyHeaderMax,
			Detail: fmt.Sprintf("has %d bytes: at most %d are allowed", len(key), KeyHeaderMax)})
	}
	return key, nil
}

// unquoteKey reads a string of a structured field (RFC 9651).
func unquoteKey(quoted string) (key, wrong string) {
	const cure = `must be a string in double quotes, in which only " and \ have a \ before them`
	var b strings.Builder
	for i := 1; i < len(quoted); i++ {
		switch ch := quoted[i]; ch {
		case '"':
			if i != len(quoted)-1 || i == 1 {
				return "", cure
			}
			return b.String(), ""
		case '\\':
			if i++; i == len(quoted) || quoted[i] != '"' && quoted[i] != '\\' {
				return "", cure
			}
			b.WriteByte(quoted[i])
		default:
			b.WriteByte(ch)
		}
	}
	return "", cure
}

func isKey(key string) bool {
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return key != ""
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

type jobsShowCmd struct {
	jsonFlag
	Raw bool   `help:"Print the payload alone, byte for byte."`
	ID  job.ID `arg:"" help:"Job."`
}

// Help implements kong.HelpProvider.
func (*jobsShowCmd) Help() string {
	return `    redrive jobs show 17
    redrive jobs show 17 --json | jq '.failures[-1].message'
    redrive jobs show 17 --raw > payload`
}

// details is all that is stored about a job.
type details struct {
	job      job.Job
	failures []job.Failure // oldest first
	letter   *job.DeadLetter
	queue    store.Queue
}

func (c *jobsShowCmd) Run(ctx context.Context, a *app) (err error) {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	d, err := readDetails(ctx, st, c.ID)
	if err != nil {
		return err
	}
	switch {
	case c.Raw:
		return a.printRaw(d.job.Payload)
	case c.JSON:
		return a.printJSON(d.view())
	}
	a.printDetails(d)
	return nil
}

func readDetails(ctx context.Context, st store.Reader, id job.ID) (*details, error) {
	j, err := st.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	d := &details{job: j}
	if d.failures, err = st.Failures(ctx, id); err != nil {
		return nil, fmt.Errorf("failures of job %d: %w", id, err)
	}
	letter, err := st.DeadLetter(ctx, id)
	switch {
	case err == nil:
		d.letter = &letter
	case !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("dead letter of job %d: %w", id, err)
	}
	queues, err := st.Queues(ctx)
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	for _, q := range queues {
		if q.Name == j.Queue {
			d.queue = q
		}
	}
	return d, nil
}

// printRaw prints bytes as they are, but never what a terminal would act on.
func (a *app) printRaw(payload []byte) error {
	if a.styleOf(a.stdout).terminal && cleanBlock(string(payload)) != string(payload) {
		return errors.New("the payload has characters that a terminal acts on; send it to a file or a program")
	}
	_, err := a.out.Write(payload)
	return err
}

// jobView is a job in JSON. The payload is in one of three forms.
type jobView struct {
	job.Job
	Attrs         json.RawMessage `json:"attrs,omitempty"`
	Payload       json.RawMessage `json:"payload,omitempty"`
	PayloadText   string          `json:"payload_text,omitempty"`
	PayloadBase64 []byte          `json:"payload_base64,omitempty"`
	Result        json.RawMessage `json:"result,omitempty"`
}

// failureView is a failure in JSON.
type failureView struct {
	job.Failure
	Details  json.RawMessage `json:"details,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Stderr   string          `json:"stderr,omitempty"`
	Stack    string          `json:"stack,omitempty"`
}

type detailsView struct {
	Job      jobView         `json:"job"`
	Failures []failureView   `json:"failures"`
	Letter   *job.DeadLetter `json:"dead_letter,omitempty"`
}

func (d *details) view() detailsView {
	v := detailsView{
		Job:      jobView{Job: d.job, Attrs: asJSON(d.job.Attrs), Result: asJSON(d.job.Result)},
		Failures: make([]failureView, len(d.failures)), Letter: d.letter,
	}
	switch payload := d.job.Payload; {
	case isJSON(payload):
		v.Job.Payload = payload
	case utf8.Valid(payload):
		v.Job.PayloadText = string(payload)
	default:
		v.Job.PayloadBase64 = payload
	}
	for i := range d.failures {
		v.Failures[i] = viewOf(&d.failures[i])
	}
	return v
}

func viewOf(f *job.Failure) failureView {
	return failureView{*f, asJSON(f.Details), asJSON(f.Decision), string(f.Stderr), f.Stack}
}

func isJSON(b []byte) bool { return utf8.Valid(b) && json.Valid(b) }

// asJSON returns JSON as it is, and anything else as a text.
func asJSON(b []byte) json.RawMessage {
	if len(b) == 0 || isJSON(b) {
		return b
	}
	text, err := json.Marshal(string(b))
	if err != nil {
		panic("a text always marshals: " + err.Error())
	}
	return text
}

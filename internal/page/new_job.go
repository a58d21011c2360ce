package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// newJobView is the form for a new job, with what was typed and the mistakes in it.
type newJobView struct {
	frame
	Kinds     []string
	Only      bool // no other kind is accepted
	In        newJobForm
	Wrong     map[string]string // by field; "" is the whole form
	Payload   []api.Mistake     // mistakes inside the payload
	Schema    string            // the JSON Schema of the chosen kind
	MaySubmit bool
}

// newJobForm has the fields as they were typed.
type newJobForm struct {
	Kind, Payload, Queue, Priority, RunAt, Deadline, Owner, Key, Correlation, Attrs string
}

// askNewJob shows the form. The query may choose a kind, or the job whose fields are taken over.
func (p *Pages) askNewJob(a *api.API, c *api.Call) error {
	query := c.R.URL.Query()
	in := newJobForm{Kind: query.Get("kind"), Payload: "{}"}
	if from := query.Get("from"); from != "" {
		id, err := job.ParseID(from)
		if err != nil {
			return api.NotFound.New("There is no job %.40q.", from)
		}
		j, err := a.Client().Get(c.Context(), id)
		if err != nil {
			return err
		}
		in = newJobForm{Kind: j.Kind, Queue: j.Queue, Priority: strconv.Itoa(int(j.Priority)), Owner: j.Owner, Correlation: j.Correlation, Attrs: string(j.Attrs)}
		if a.SeesPayloads(c) {
			in.Payload = pretty(j.Payload)
			if a.TakesText(j.Kind) {
				in.Payload = string(j.Payload)
			}
		}
	}
	return p.writeNewJob(a, c, &newJobView{In: in}, http.StatusOK)
}

func (p *Pages) writeNewJob(a *api.API, c *api.Call, v *newJobView, status int) error {
	f, err := p.frame(a, c, "jobs", "New job")
	if err != nil {
		return err
	}
	v.frame = f
	if v.Kinds, err = a.KindNames(c); err != nil {
		return err
	}
	v.Only = a.Options().Kinds != nil
	if v.In.Kind == "" && len(v.Kinds) == 1 {
		v.In.Kind = v.Kinds[0]
	}
	if v.In.Kind != "" && v.Only && !slices.Contains(v.Kinds, v.In.Kind) && v.Wrong["kind"] == "" {
		v.In.Kind = ""
	}
	v.Schema = pretty(a.Client().PayloadSchema(v.In.Kind))
	v.MaySubmit = c.Caller.Roles.Any(access.Submit | access.Operate)
	v.Heading = "New job"
	if v.In.Kind != "" {
		v.Heading = "New " + words.Clean(v.In.Kind) + " job"
	}
	v.Lead = "It is durable when the next page shows it. A form that is sent twice makes one job."
	return p.write(c.W, status, "new_job", v)
}

// addJob enqueues the job of the form. A form with mistakes is shown again, with each mistake beside
// its field.
func (p *Pages) addJob(a *api.API, c *api.Call) error {
	fields, err := form(c)
	if err != nil {
		return err
	}
	in := newJobForm{
		Kind: strings.TrimSpace(fields.Get("kind")), Payload: fields.Get("payload"), Queue: strings.TrimSpace(fields.Get("queue")), Priority: fields.Get("priority"),
		RunAt: strings.TrimSpace(fields.Get("run_at")), Deadline: strings.TrimSpace(fields.Get("deadline")), Owner: fields.Get("owner"), Key: fields.Get("key"),
		Correlation: fields.Get("correlation"), Attrs: fields.Get("attrs"),
	}
	v := newJobView{In: in, Wrong: make(map[string]string)}
	if fields.Has("choose") { // the kind was chosen: its schema is shown
		return p.writeNewJob(a, c, &v, http.StatusOK)
	}
	job := v.read(a)
	nonce := ""
	if text := fields.Get("nonce"); text != "" && len(text) <= 64 {
		nonce = "page-" + text
	}
	if len(v.Wrong) == 0 {
		receipt, err := a.Enqueue(c, job, nonce)
		if err == nil {
			text := fmt.Sprintf("Job %d is enqueued.", receipt.ID)
			if receipt.Existing {
				text = fmt.Sprintf("Job %d has this key already. No job was added.", receipt.ID)
			}
			p.tell(a, c, done{Text: text})
			return p.to(c, "/ui/jobs/"+receipt.ID.String())
		}
		problem, refused := errors.AsType[*api.Problem](err)
		if !refused || problem.Status >= 500 {
			return err
		}
		v.refuse(problem)
	}
	return p.writeNewJob(a, c, &v, http.StatusBadRequest)
}

// read turns the fields into a job, and notes what is no number and no JSON.
func (v *newJobView) read(a *api.API) *api.JobIn {
	in := &v.In
	out := api.JobIn{Kind: in.Kind, Queue: in.Queue, RunAt: in.RunAt, Deadline: in.Deadline, Owner: in.Owner, Key: in.Key, Correlation: in.Correlation}
	payload := strings.ReplaceAll(in.Payload, "\r\n", "\n")
	if a.TakesText(in.Kind) {
		out.Payload, _ = json.Marshal(payload) // a text is always JSON
	} else {
		out.Payload = json.RawMessage(strings.TrimSpace(payload))
		if err := json.Unmarshal(out.Payload, new(any)); err != nil {
			v.Wrong["payload"] = "is not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
		}
	}
	if in.Priority != "" {
		n, err := strconv.Atoi(in.Priority)
		if err != nil {
			v.Wrong["priority"] = fmt.Sprintf("must be a whole number from %d to %d", job.PriorityMin, job.PriorityMax)
		}
		out.Priority = &n
	}
	if text := strings.TrimSpace(in.Attrs); text != "" {
		if err := json.Unmarshal([]byte(text), &out.Attrs); err != nil {
			v.Wrong["attrs"] = `must be a JSON object, such as {"tier":"free"}`
		}
	}
	return &out
}

// refuse puts each mistake of a problem beside its field.
func (v *newJobView) refuse(problem *api.Problem) {
	for _, m := range problem.Errors {
		name, rest, inside := strings.Cut(strings.TrimPrefix(m.Pointer, "/"), "/")
		if name == "payload" && inside {
			m.Pointer = "/" + rest
			v.Payload = append(v.Payload, m)
			m.Detail = "does not fit the schema of " + v.In.Kind
		}
		if v.Wrong[name] == "" {
			v.Wrong[name] = m.Detail
		}
	}
	if len(problem.Errors) == 0 {
		v.Wrong[""] = problem.Detail
	}
}

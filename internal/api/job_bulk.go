package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
)

// JobFilterIn selects live jobs. A job must match all fields that are set.
type JobFilterIn struct {
	// State has the states: waiting, retrying, running.
	State       []job.State `json:"state,omitempty"`
	Kind        string      `json:"kind,omitempty" jsonschema:"maxLength=256"`
	Queue       string      `json:"queue,omitempty" jsonschema:"maxLength=256"`
	Owner       string      `json:"owner,omitempty" jsonschema:"maxLength=256"`
	Batch       int64       `json:"batch,omitempty"`
	Worker      string      `json:"worker,omitempty" jsonschema:"maxLength=256"`
	Correlation string      `json:"correlation,omitempty" jsonschema:"maxLength=256"`
	// Attr has the attributes that the job must have: at most one.
	Attr  map[string]string `json:"attr,omitempty"`
	Class string            `json:"class,omitempty" jsonschema:"maxLength=256"`
	Group string            `json:"group,omitempty" jsonschema:"maxLength=256"`
	Text  string            `json:"text,omitempty" jsonschema:"maxLength=256"`
	// All selects all live jobs. Without another field, it is needed.
	All bool `json:"all,omitempty"`
}

// BulkIn is an action on many jobs: by their ids, or by a filter.
type BulkIn struct {
	// IDs are the jobs, at most 1,000.
	IDs    []job.ID     `json:"ids,omitempty"`
	Filter *JobFilterIn `json:"filter,omitempty"`
	// Through is from the preview: jobs that were enqueued later are not changed.
	Through redrive.JobCursor `json:"through,omitzero"`
	// Note is the reason, for the audit log.
	Note string `json:"note,omitempty" jsonschema:"maxLength=4096"`
}

// BulkChangeIn is a change of many jobs.
type BulkChangeIn struct {
	BulkIn
	ChangeIn
}

// BulkOut is the answer to an action by ids.
type BulkOut struct {
	Results []wire.JobAnswer `json:"results"`
}

// BulkDone is the answer to an action by a filter. The server works on it for about 20 s; if more
// is true, the same request with through goes on.
type BulkDone struct {
	Done int64 `json:"done"` // jobs that were changed
	More bool  `json:"more"`
	// Through is the end of the frozen set.
	Through redrive.JobCursor `json:"through,omitzero"`
}

// BulkPreview is the answer to a preview.
type BulkPreview struct {
	Count   int64             `json:"count"` // jobs that would be changed
	Through redrive.JobCursor `json:"through,omitzero"`
}

func (a *API) cancelJobs(c *Call) error {
	var in BulkIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	return a.bulk(c, &in, redrive.LiveCancel, redrive.EncodedChange{}, func(by redrive.By) ([]error, error) { return a.client.CancelAll(c.Context(), by, in.IDs) })
}

func (a *API) alterJobs(c *Call) error {
	var in BulkChangeIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	if in.Payload != nil || in.Patch != nil {
		return InvalidField.Mistaken(Mistake{Pointer: "/payload", Detail: "many jobs cannot get one payload; PATCH /api/jobs/{id} changes the payload of one job"})
	}
	change, err := a.change(&job.Job{}, &in.ChangeIn)
	if err != nil {
		return err
	}
	encoded, err := change.Encode()
	if err != nil {
		return err
	}
	if encoded.IsZero() {
		return InvalidField.Mistaken(Mistake{Detail: "nothing to change: give queue, priority, policy or delay_ms"})
	}
	return a.bulk(c, &in.BulkIn, redrive.LiveAlter, encoded, func(by redrive.By) ([]error, error) {
		return a.client.AlterAll(c.Context(), by, in.IDs, encoded)
	})
}

// bulk carries out an action by ids or by a filter.
func (a *API) bulk(c *Call, in *BulkIn, do redrive.LiveAct, change redrive.EncodedChange, byIDs func(redrive.By) ([]error, error)) error {
	if err := checkReason(in.Note); err != nil {
		return err
	}
	preview, err := c.preview()
	if err != nil {
		return err
	}
	switch {
	case (in.IDs == nil) == (in.Filter == nil):
		return InvalidField.Mistaken(Mistake{Detail: "give either \"ids\" or \"filter\""})
	case len(in.IDs) > IDsMax:
		return TooLarge.Mistaken(Mistake{Pointer: "/ids", Detail: "has more ids than a call takes; use a filter, or several calls", Bound: IDsMax})
	case in.Filter != nil:
		return a.bulkByFilter(c, in, do, change, preview)
	case preview:
		return InvalidField.Mistaken(Mistake{Parameter: "preview", Detail: "is allowed only with a filter; a call with ids needs no preview"})
	case len(in.IDs) == 0:
		return InvalidField.Mistaken(Mistake{Pointer: "/ids", Detail: "is empty; name at least one job"})
	}
	errs, err := byIDs(c.By(in.Note))
	if err != nil {
		return err
	}
	return a.answers(c, in.IDs, errs)
}

// preview returns the parameter preview.
func (c *Call) preview() (bool, error) {
	switch text := c.R.URL.Query().Get("preview"); text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, InvalidField.Mistaken(Mistake{Parameter: "preview", Detail: "must be true or false"})
}

// answers answers with the result for each id.
func (a *API) answers(c *Call, ids []job.ID, errs []error) error {
	out := BulkOut{Results: make([]wire.JobAnswer, len(ids))}
	states := make(map[job.ID]*job.Job)
	for from := 0; from < len(ids); from += job.PageMax {
		jobs, err := a.client.GetAll(c.Context(), ids[from:min(from+job.PageMax, len(ids))])
		if err != nil {
			return err
		}
		for i := range jobs {
			states[jobs[i].ID] = &jobs[i]
		}
	}
	for i, id := range ids {
		r := &out.Results[i]
		r.ID = id
		if j := states[id]; j != nil {
			r.State, r.Asked = j.State, j.State == job.Running && j.CancelAt > 0
		}
		if err := errs[i]; err != nil {
			r.Code, r.Error = wire.KindOf(err).String(), plain(err)
		}
	}
	return c.JSON(http.StatusOK, out)
}

func (in *JobFilterIn) filter() (redrive.JobFilter, error) {
	f := redrive.JobFilter{
		States: in.State, Kind: in.Kind, Queue: in.Queue, Owner: in.Owner, Batch: in.Batch, Worker: in.Worker, Correlation: in.Correlation,
		Class: in.Class, Group: in.Group, Text: in.Text,
	}
	if len(in.Attr) > 1 {
		return f, InvalidField.Mistaken(Mistake{Pointer: "/filter/attr", Detail: "has several attributes; a filter has one", Bound: 1})
	}
	for name, value := range in.Attr {
		f.Attr = redrive.JobAttr{Name: name, Value: value}
	}
	empty := filterHash(f) == filterHash(redrive.JobFilter{})
	if empty != in.All {
		return f, InvalidField.Mistaken(Mistake{Pointer: "/filter", Detail: "must have at least one field; \"all: true\", and no other field, selects all live jobs"})
	}
	if err := f.Validate(); err != nil {
		return f, kindOf(err).Mistaken(Mistake{Pointer: "/filter", Detail: plain(err)})
	}
	return f, nil
}

// bulkByFilter carries out an action by a filter, for at most ActTime.
func (a *API) bulkByFilter(c *Call, in *BulkIn, do redrive.LiveAct, change redrive.EncodedChange, preview bool) error {
	f, err := in.Filter.filter()
	if err != nil {
		return err
	}
	action := redrive.LiveAction{Do: do, Filter: f, Change: change, Through: in.Through.ID, At: in.Through.At}
	if preview {
		seen, err := a.client.PreviewLive(c.Context(), action)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, BulkPreview{Count: seen.Done, Through: redrive.JobCursor{At: seen.At, ID: seen.Through}})
	}
	if in.Through.IsZero() {
		return InvalidField.Mistaken(Mistake{Pointer: "/through", Detail: "is missing: ask with preview=true first, and send the field \"through\" of its answer"})
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	out := BulkDone{Through: in.Through}
	until := a.o.Now().Add(ActTime)
	_, err = a.client.ActLive(ctx, c.By(in.Note), action, func(done int64) {
		if out.Done = done; !a.o.Now().Before(until) {
			cancel() // between two steps
		}
	})
	if err != nil && errors.Is(err, context.Canceled) && c.Context().Err() == nil {
		out.More, err = true, nil
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}

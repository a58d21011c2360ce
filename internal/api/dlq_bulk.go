package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/jsonpatch"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// BulkRetryIn is a retry of many dead letters: by their ids, or by a filter after a preview.
type BulkRetryIn struct {
	// JobIDs are ids of jobs, or outside ids; at most 1,000.
	JobIDs []string      `json:"job_ids,omitempty"`
	Filter *DeadFilterIn `json:"filter,omitempty"`
	// Through is from the preview: jobs that have died later are not retried.
	Through int64 `json:"through,omitempty" jsonschema:"minimum=0"`
	// Change is what the retry changes in the jobs. A payload is changed by a patch only.
	Change ChangeIn `json:"change,omitzero"`
	// Note is the reason, for the dead letters and the audit log.
	Note string `json:"note,omitempty" jsonschema:"maxLength=4096"`
}

// BulkRetryOut is the answer to a retry by ids.
type BulkRetryOut struct {
	Results []BulkRetryResult `json:"results"`
	Retried int64             `json:"retried"` // the number of retried jobs
	Refused int64             `json:"refused"` // the number of the others
}

// BulkRetryResult is the result for one id of a retry.
type BulkRetryResult struct {
	JobID  string `json:"job_id"`               // the id as it was sent
	ID     job.ID `json:"id,omitempty"`         // the id of the job
	Status string `json:"status"`               // retried, or refused
	Code   string `json:"error_code,omitempty"` // the name of the kind of the error
	Error  string `json:"error,omitempty"`      // why the job was refused
}

// BulkRetryDone is the answer to a retry by a filter. The server works on it for about 20 s; if more is
// true, the same request with through goes on.
type BulkRetryDone struct {
	Retried int64 `json:"retried"`
	Refused int64 `json:"refused"` // the jobs to which the patch does not apply
	// Results have the first jobs that were refused.
	Results []BulkRetryResult `json:"results"`
	More    bool              `json:"more"`
	// Through is the end of the frozen set.
	Through int64 `json:"through,omitempty"`
	// Redrive is the redrive that retries the jobs of a patch. It goes on by itself.
	Redrive int64 `json:"redrive,omitempty"`
}

// DeadActIn is an action on all dead letters of a filter.
type DeadActIn struct {
	// Do is the action. Purge needs the role administer.
	Do     string        `json:"do" jsonschema:"enum=retry,enum=resolve,enum=ignore,enum=reopen,enum=purge"`
	Filter *DeadFilterIn `json:"filter"`
	// Through is from the preview: jobs that have died later are not changed.
	Through int64 `json:"through,omitempty" jsonschema:"minimum=0"`
	// Note is the reason, for the dead letters and the audit log. It is required to ignore or purge.
	Note string `json:"note,omitempty" jsonschema:"maxLength=4096"`
	// Change is what a retry changes in the jobs.
	Change ChangeIn `json:"change,omitzero"`
	// Until is when ignored dead letters become pending again.
	Until string `json:"until,omitempty" jsonschema:"maxLength=256"`
	// Count ends the ignoring of a whole group after this number of further deaths.
	Count int64 `json:"count,omitempty" jsonschema:"minimum=0"`
}

// DeadDone is the answer to an action by a filter. The server works on it for about 20 s; if more
// is true, the same request goes on.
type DeadDone struct {
	Done int64 `json:"done"` // dead letters that were changed
	More bool  `json:"more"`
	// Through is the end of the frozen set.
	Through int64 `json:"through,omitempty"`
}

// acts are the actions by their names.
var acts = [...]redrive.Act{redrive.ActRetry, redrive.ActResolve, redrive.ActIgnore, redrive.ActReopen, redrive.ActPurge}

// bulkRetryDead retries many dead letters.
func (a *API) bulkRetryDead(c *Call) error {
	body, err := c.Body()
	if err != nil {
		return err
	}
	var in BulkRetryIn
	var wrong []strictjson.Mistake
	if strictjson.Kind(body) == '[' {
		wrong = strictjson.Decode(body, &in.JobIDs, "")
	} else {
		wrong = strictjson.Decode(body, &in, "")
	}
	if len(wrong) > 0 {
		return bodyProblem(wrong)
	}
	if err := checkReason(in.Note); err != nil {
		return err
	}
	switch {
	case (in.JobIDs == nil) == (in.Filter == nil):
		return InvalidField.Mistaken(Mistake{Detail: "give either job_ids or filter"})
	case in.Change.Payload != nil:
		return InvalidField.Mistaken(Mistake{Pointer: "/change/payload", Detail: "many jobs cannot get one payload; patch changes the payload of each job"})
	case len(in.JobIDs) > IDsMax:
		return TooLarge.Mistaken(Mistake{Pointer: "/job_ids", Detail: "has more ids than a call takes; use a filter, or several calls", Bound: IDsMax})
	case in.Filter == nil && in.Through != 0:
		return InvalidField.Mistaken(Mistake{Pointer: "/through", Detail: "is allowed only with a filter"})
	case in.Filter == nil && len(in.JobIDs) == 0:
		return InvalidField.Mistaken(Mistake{Pointer: "/job_ids", Detail: "is empty; name at least one job"})
	}
	patch := in.Change.Patch
	if patch != nil {
		if _, err := jsonpatch.Parse(patch); err != nil {
			return InvalidField.Mistaken(Mistake{Pointer: "/change/patch", Detail: err.Error()})
		}
	}
	change, err := a.deadChange(&in.Change)
	if err != nil {
		return err
	}
	action := redrive.Action{Do: redrive.ActRetry, Note: in.Note, Change: change}
	if in.Filter == nil {
		return a.bulkRetryIDs(c, in.JobIDs, action, patch)
	}
	f, err := a.frozenFilter(in.Filter, in.Through)
	if err != nil {
		return err
	}
	action.Filter, action.Through = &f, in.Through
	if patch != nil {
		return a.bulkRetryPatched(c, action, patch)
	}
	done, more, err := a.actOnSet(c, c.By(action.Note), action)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, BulkRetryDone{Retried: done, Results: []BulkRetryResult{}, More: more, Through: in.Through})
}

// deadChange returns a change of many jobs, without its patch.
func (a *API) deadChange(in *ChangeIn) (redrive.EncodedChange, error) {
	rest := *in
	rest.Patch = nil
	change, err := a.change(&job.Job{}, &rest)
	if err != nil {
		return redrive.EncodedChange{}, below(err, "/change")
	}
	encoded, err := change.Encode()
	if err != nil {
		return encoded, InvalidField.Mistaken(Mistake{Pointer: "/change", Detail: plain(err)})
	}
	return encoded, nil
}

// below puts the mistakes of a problem below a field of the body.
func below(err error, field string) error {
	if p, ok := errors.AsType[*Problem](err); ok {
		for i := range p.Errors {
			p.Errors[i].Pointer = field + p.Errors[i].Pointer
		}
	}
	return err
}

// frozenFilter returns the filter of an action on a frozen set. It refuses an action without a
// preview, because it would change what has died meanwhile.
func (a *API) frozenFilter(in *DeadFilterIn, through int64) (redrive.DeadFilter, error) {
	f, err := a.bodyFilter(in)
	if err == nil && through <= 0 {
		err = InvalidField.Mistaken(Mistake{Pointer: "/through", Detail: "is missing: ask POST /api/admin/dlq/preview first, and send the field through of its answer"})
	}
	return f, err
}

// actOnSet carries out an action on a frozen set, for at most ActTime. It reports whether more is
// left to do.
func (a *API) actOnSet(c *Call, by redrive.By, action redrive.Action) (done int64, more bool, err error) {
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	until := a.o.Now().Add(ActTime)
	_, err = a.client.Act(ctx, by, action, func(n int64) {
		if done = n; !a.o.Now().Before(until) {
			cancel() // between two steps
		}
	})
	if err != nil && errors.Is(err, context.Canceled) && c.Context().Err() == nil {
		return done, true, nil
	}
	return done, false, err
}

// bulkRetryIDs retries dead letters by their job ids or by their outside ids.
func (a *API) bulkRetryIDs(c *Call, names []string, action redrive.Action, patch json.RawMessage) error {
	out := BulkRetryOut{Results: make([]BulkRetryResult, len(names))}
	places := make(map[job.ID][]int)
	for i, name := range names {
		r := &out.Results[i]
		r.JobID, r.Status = name, "refused"
		d, _, err := a.findDead(c, name)
		if err != nil {
			p := ProblemOf(err)
			if p.kind != NotFound {
				return err
			}
			r.Code, r.Error = p.kind.Name, p.Detail
			continue
		}
		r.ID = d.DeadLetter.Job
		if len(places[r.ID]) == 0 {
			action.IDs = append(action.IDs, r.ID)
		}
		places[r.ID] = append(places[r.ID], i)
	}
	refused := make(map[job.ID]error)
	if len(action.IDs) > 0 {
		if err := a.retryAll(c, action, patch, refused); err != nil {
			return err
		}
	}
	for id, list := range places {
		for _, i := range list {
			if err := refused[id]; err != nil {
				out.Results[i].Code, out.Results[i].Error = wire.KindOf(err).String(), plain(err)
			} else {
				out.Results[i].Status = "retried"
			}
		}
	}
	out.Retried = int64(len(action.IDs) - len(refused))
	for i := range out.Results {
		if out.Results[i].Status == "refused" {
			out.Refused++
		}
	}
	return c.JSON(http.StatusOK, out)
}

// retryAll retries jobs by their ids, and notes the errors of those that it does not retry.
func (a *API) retryAll(c *Call, action redrive.Action, patch json.RawMessage, refused map[job.ID]error) error {
	if patch != nil {
		done, err := a.client.RetryPatched(c.Context(), c.By(action.Note), action, patch, false, nil)
		for _, r := range done.Refused {
			refused[r.Job] = r.Err
		}
		return err
	}
	done, err := a.client.Act(c.Context(), c.By(action.Note), action, nil)
	if err != nil {
		return err
	}
	for i, err := range done.Errors {
		if err != nil {
			refused[action.IDs[i]] = err
		}
	}
	return nil
}

// bulkRetryPatched retries the jobs of a frozen set, each with its patched payload. The store keeps
// the retry as a redrive, which goes on when the time of the request is over.
func (a *API) bulkRetryPatched(c *Call, action redrive.Action, patch json.RawMessage) error {
	ctx, cancel := context.WithTimeout(c.Context(), ActTime)
	defer cancel()
	done, err := a.client.RetryPatched(ctx, c.By(action.Note), action, patch, false, nil)
	out := BulkRetryDone{Retried: done.Done, Refused: done.RefusedN, Results: []BulkRetryResult{}, Through: action.Through, Redrive: done.Redrive}
	if err != nil && done.Redrive != 0 && ctx.Err() != nil && c.Context().Err() == nil {
		out.More, err = true, nil
	}
	if err != nil {
		return err
	}
	for _, r := range done.Refused {
		out.Results = append(out.Results, BulkRetryResult{JobID: r.Job.String(), ID: r.Job, Status: "refused", Code: wire.KindOf(r.Err).String(), Error: plain(r.Err)})
	}
	return c.JSON(http.StatusOK, out)
}

// deadAction reads an action on all dead letters of a filter.
func (a *API) deadAction(c *Call, in *DeadActIn) (redrive.Action, error) {
	action := redrive.Action{Note: in.Note, Through: in.Through, Count: in.Count}
	i := slices.IndexFunc(acts[:], func(do redrive.Act) bool { return do.String() == in.Do })
	if i < 0 {
		return action, InvalidField.Mistaken(Mistake{Pointer: "/do", Detail: fmt.Sprintf("%.40q: must be retry, resolve, ignore, reopen or purge", in.Do)})
	}
	action.Do = acts[i]
	if err := checkReason(in.Note); err != nil {
		return action, err
	}
	if in.Change.Payload != nil || in.Change.Patch != nil {
		return action, InvalidField.Mistaken(Mistake{Pointer: "/change", Detail: "cannot change payloads here; POST /api/admin/dlq/bulk-retry takes a patch"})
	}
	f, err := a.bodyFilter(in.Filter)
	if err != nil {
		return action, err
	}
	action.Filter = &f
	if action.Change, err = a.deadChange(&in.Change); err != nil {
		return action, err
	}
	if action.Until, err = a.future("/until", in.Until); err != nil {
		return action, err
	}
	if err := action.Validate(true); err != nil {
		return action, kindOf(err).Mistaken(Mistake{Detail: plain(err)})
	}
	return action, nil
}

// actOnDead carries out an action on all dead letters of a frozen set.
func (a *API) actOnDead(c *Call) error {
	var in DeadActIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	action, err := a.deadAction(c, &in)
	if err != nil {
		return err
	}
	if action.Do == redrive.ActPurge && !c.Caller.Roles.Any(access.Administer) {
		return Forbidden.New("A purge needs the role administer.")
	}
	if err := needReason(action.Do, action.Note, "/note"); err != nil {
		return err
	}
	if _, err := a.frozenFilter(in.Filter, in.Through); err != nil {
		return err
	}
	done, more, err := a.actOnSet(c, c.By(action.Note), action)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, DeadDone{Done: done, More: more, Through: action.Through})
}

package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// BatchOut is a batch with its counts.
type BatchOut struct {
	wire.Batch
	Standing string      `json:"standing"` // the state and what the batch waits for, as a sentence
	Next     []wire.Step `json:"next"`     // what a person can do next
}

// BatchList is a page of batches, the newest first.
type BatchList struct {
	Items []BatchOut `json:"items"`
	// Next is the cursor of the next page; it is left out on the last page.
	Next string `json:"next,omitempty"`
}

// batchProblem returns the problem for a call that the state of a batch does not allow.
func batchProblem(e *redrive.BatchRefused) *Problem {
	kind := StateMoved
	for _, k := range [...]*Kind{BatchEmpty, BatchDraft, BatchEnded, BatchExpired, BatchBusy} {
		if k.Name == e.Why {
			kind = k
		}
	}
	p := kind.New("%s", e)
	p.Batch = e.ID
	return p
}

// batchOut returns a batch as the caller may see it.
func (a *API) batchOut(c *Call, b *redrive.Batch) BatchOut {
	now := job.At(a.o.Now())
	out := BatchOut{Batch: wire.BatchOf(b), Standing: words.BatchStanding(b, now), Next: []wire.Step{}}
	out.Attrs = wire.CleanedBytes(b.Attrs, a.cleaning())
	if c.Outside() {
		out.Callbacks, out.CreatedBy = nil, ""
		return out
	}
	out.Next = wire.StepsOf(words.BatchSteps(b, now), a.way)
	out.Callbacks = make([]redrive.BatchCallback, len(b.Callbacks))
	for i, callback := range b.Callbacks {
		if callback.Payload = json.RawMessage(wire.CleanedBytes(callback.Payload, a.cleaning())); !a.seesPayloads(c) {
			callback.Payload = nil
		}
		out.Callbacks[i] = callback
	}
	return out
}

// Batch returns the batch of the path. For a batch of another owner, the answer is, byte for byte,
// the same as for one that does not exist.
func (a *API) Batch(c *Call) (*redrive.BatchHandle, redrive.Batch, error) {
	text := c.R.PathValue("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || strconv.FormatInt(id, 10) != text {
		return nil, redrive.Batch{}, NotFound.New("batch %.40q: there is no such batch", text)
	}
	h := a.client.BatchHandle(id)
	b, err := a.visibleBatch(c, h)
	return h, b, err
}

// visibleBatch reads a batch that the caller may see.
func (a *API) visibleBatch(c *Call, h *redrive.BatchHandle) (redrive.Batch, error) {
	b, err := h.Get(c.Context())
	if err == nil && c.Caller.Owner != "" && c.Caller.Owner != b.Owner || errors.Is(err, redrive.ErrNotFound) {
		return redrive.Batch{}, NotFound.New("batch %d: there is no such batch", h.ID())
	}
	return b, err
}

// BatchOfJob returns the batch of which a job is a member; nil if there is no such batch, or if the batch is not
// stored any more.
func (a *API) BatchOfJob(c *Call, j *job.Job) (*redrive.Batch, error) {
	if j.Batch == 0 {
		return nil, nil //nolint:nilnil // most jobs have no batch
	}
	b, err := a.client.BatchHandle(j.Batch).Get(c.Context())
	if errors.Is(err, redrive.ErrNotFound) {
		return nil, nil //nolint:nilnil // as above
	}
	return &b, err
}

// showBatch answers with a batch as it is now.
func (a *API) showBatch(c *Call, h *redrive.BatchHandle) error {
	b, err := a.visibleBatch(c, h)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, a.batchOut(c, &b))
}

func (a *API) listBatches(c *Call) error {
	page, next, err := a.Batches(c)
	if err != nil {
		return err
	}
	out := BatchList{Items: make([]BatchOut, len(page.Batches)), Next: next}
	for i := range page.Batches {
		out.Items[i] = a.batchOut(c, &page.Batches[i])
	}
	return c.JSON(http.StatusOK, out)
}

// Batches reads the page of batches that the query selects, and the cursor of the next page.
func (a *API) Batches(c *Call) (page redrive.BatchPage, next string, err error) {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f := redrive.BatchFilter{Owner: q.text("owner"), Key: q.text("key"), Name: q.text("name"), Limit: int(q.number("limit", 1, PageMax, PageDefault))}
	if state := q.text("state"); state != "" {
		if f.State, err = job.ParseBatchState(state); err != nil {
			q.add("state", err.Error(), nil)
		}
	}
	if c.Caller.Owner != "" {
		if f.Owner != "" && f.Owner != c.Caller.Owner {
			q.add("owner", "this caller may see only batches of the owner for whom it acts; leave the parameter out", nil)
		}
		f.Owner = c.Caller.Owner
	}
	if err := q.problem(); err != nil {
		return page, "", err
	}
	hash := a.queryHash(c)
	at, err := parseCursor(q.text("cursor"), batchOrder, hash)
	if err != nil {
		return page, "", err
	}
	f.Before = int64(at.ID)
	if page, err = a.client.Batches(c.Context(), f); err != nil {
		return page, "", err
	}
	return page, cursorOf(redrive.JobCursor{ID: job.ID(page.Next)}, batchOrder, hash), nil
}

// getBatch answers with a batch, at once or when it has ended.
func (a *API) getBatch(c *Call) error {
	h, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	q := &queryReader{values: c.R.URL.Query()}
	limit, after := q.waitFor(), q.number("after", 0, 1<<62, -1)
	if err := q.problem(); err != nil {
		return err
	}
	ended := func() bool {
		if after >= 0 && b.State != job.BatchExpired {
			return b.Outcome > after
		}
		return b.Task == 0 && (b.State.Ended() || b.State == job.BatchExpired)
	}
	if limit > 0 && !ended() {
		err := a.awaitEnd(c, awaited{batch: b.ID}, limit, func() (bool, error) {
			b, err = a.visibleBatch(c, h)
			return ended(), err
		})
		if err != nil {
			return err
		}
	}
	out := a.batchOut(c, &b)
	if c.unchanged(versionOf(out.Batch)) {
		return nil
	}
	return c.JSON(http.StatusOK, out)
}

func (a *API) listOutcomes(c *Call) error {
	h, _, err := a.Batch(c)
	if err != nil {
		return err
	}
	q := &queryReader{values: c.R.URL.Query()}
	after := q.number("after", 0, 1<<62, 0)
	if err := q.problem(); err != nil {
		return err
	}
	list, err := h.Outcomes(c.Context(), after)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, OutcomeList{Items: append([]redrive.BatchOutcome{}, list...)})
}

// explainBatch answers what a batch waits for.
func (a *API) explainBatch(c *Call) error {
	_, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	now := job.At(a.o.Now())
	out := wire.BatchExplanation{Batch: b.ID, State: b.State, Standing: words.BatchStanding(&b, now), Next: wire.StepsOf(words.BatchSteps(&b, now), a.way)}
	if out.Waits, err = a.MembersWaiting(c, &b); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}

// MembersWaiting returns some members of a batch that have not ended, and what each of them waits for.
func (a *API) MembersWaiting(c *Call, b *redrive.Batch) ([]wire.MemberWaits, error) {
	out := []wire.MemberWaits{}
	if b.State != job.BatchProcessing {
		return out, nil
	}
	now := job.At(a.o.Now())
	for _, state := range [...]job.State{job.Running, job.Retrying, job.Waiting} {
		page, err := a.client.BatchHandle(b.ID).Members(c.Context(), redrive.MemberFilter{State: state, Limit: wire.WaitsShown}, 0)
		if err != nil {
			return nil, fmt.Errorf("read members of batch %d: %w", b.ID, err)
		}
		for i := range page.Members {
			m := &page.Members[i]
			d, err := a.details(c, &m.Job)
			if err != nil {
				return nil, err
			}
			waits, err := a.Waits(c.Context(), d)
			if err != nil {
				return nil, err
			}
			out = append(out, wire.MemberWaits{Job: m.ID, Key: m.Key, State: m.State, Standing: d.Standing(now), Waits: waits})
		}
	}
	return out, nil
}

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// MemberReceipt is the answer to the addition of one member.
type MemberReceipt struct {
	ID job.ID `json:"id"`
	// Existing is true if the batch had a member with this key, so that none was added.
	Existing bool `json:"existing"`
	// State is "draft" or the state of the job, if the member existed before.
	State string `json:"state"`
	// Status is "skipped" if the existing member has completed.
	Status string `json:"status,omitempty"`
	// Reason is "already_processed" if the existing member has completed.
	Reason string `json:"reason,omitempty"`
}

// MemberLine is the answer to one line: a receipt, or what is wrong with the line.
type MemberLine struct {
	LineOut
	// State is "draft" or the state of the job, if the member existed before.
	State string `json:"state,omitempty"`
}

// MemberOut is a member of a batch: a job, or a draft.
type MemberOut struct {
	wire.JobRow
	State string `json:"state"` // the state of the job, or draft
	// Replaces is, for a draft, the cancelled job whose place it takes.
	Replaces job.ID `json:"replaces,omitempty"`
}

// MemberList is a page of members.
type MemberList struct {
	Items []MemberOut `json:"items"`
	// Next is the cursor of the next page; it is left out on the last page. A page can be short although a next one follows.
	Next string `json:"next,omitempty"`
}

// OutsideMember is a member as its owner sees it.
type OutsideMember struct {
	Outside
	Key   string `json:"key,omitempty"`
	State string `json:"state"`           // the state of the job, or draft
	Aside bool   `json:"aside,omitempty"` // the member does not count in its batch
}

// OutsideMembers is a page of members in the outside view.
type OutsideMembers struct {
	Items []OutsideMember `json:"items"`
	Next  string          `json:"next,omitempty"`
}

// intoBatch is the batch to which jobs of a request are added.
type intoBatch struct {
	id    int64
	owner string
	keys  bool // each member needs a key
}

// member checks a job that is added to a batch, and gives it the owner of the batch.
func (r *specReader) member(in *JobIn, o *redrive.Options, at string) {
	b := r.batch
	if b == nil {
		return
	}
	if in.Batch != 0 && in.Batch != b.id {
		r.add(InvalidField, Mistake{Pointer: at + "/batch", Detail: "names another batch than the path; leave it out"})
	}
	if in.Owner != "" && in.Owner != b.owner {
		r.add(InvalidField, Mistake{Pointer: at + "/owner", Detail: "a member has the owner of its batch; leave it out"})
	}
	for _, f := range [...]struct{ name, value string }{{"unique", in.Unique}, {"key_until", in.KeyUntil}} {
		if f.value != "" {
			r.add(InvalidField, Mistake{Pointer: at + "/" + f.name, Detail: "a member keeps its key as long as the batch exists; leave the field out"})
		}
	}
	if b.keys && o.Key == "" {
		r.add(InvalidField, Mistake{Pointer: at + "/key", Detail: "is missing: give each member a key that is unique in its batch, or send ?keys=false"})
	}
	o.Batch, o.Owner, o.Unique = b.id, b.owner, nil
	o.KeyUntil = time.Time{}
}

// ownBatch refuses a job that names the batch of another owner, as one that is not there.
func (r *specReader) ownBatch(id int64, at string) {
	own, known := r.own[id]
	if !known {
		b, err := r.api.client.BatchHandle(id).Get(r.call.Context())
		own = err == nil && b.Owner == r.call.Caller.Owner
		if r.own == nil {
			r.own = make(map[int64]bool)
		}
		r.own[id] = own
	}
	if !own {
		r.add(InvalidField, Mistake{Pointer: at + "/batch", Detail: fmt.Sprintf("batch %d: there is no such batch", id)})
	}
}

// addMembers adds one member, an array of members or JSON lines.
func (a *API) addMembers(c *Call) error {
	h, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	q := &queryReader{values: c.R.URL.Query()}
	into := &intoBatch{id: b.ID, owner: b.Owner, keys: q.text("keys") == "" || q.flag("keys")}
	if err := q.problem(); err != nil {
		return err
	}
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	const each = "is of a single member; give each member of this request a key of its own"
	if c.hasLines() {
		if key != "" {
			return InvalidField.Mistaken(Mistake{Header: headerKey, Detail: each})
		}
		return a.takeLines(c, &taker{api: a, call: c, batch: into,
			many: func(ctx context.Context, specs []redrive.Spec) ([]redrive.Receipt, error) {
				return h.Add(ctx, specs...)
			},
			one: func(ctx context.Context, spec redrive.Spec) (redrive.Receipt, error) {
				receipts, err := h.Add(ctx, spec)
				if err != nil {
					return redrive.Receipt{}, err
				}
				return receipts[0], nil
			}})
	}
	body, err := c.Body()
	if err != nil {
		return err
	}
	r := &specReader{api: a, call: c, now: a.o.Now(), batch: into}
	switch strictjson.Kind(body) {
	case '{':
		r.header = key
		spec := r.spec(body, "")
		if err := r.problem(); err != nil {
			return err
		}
		return a.addSpecs(c, h, []redrive.Spec{spec}, false)
	case '[':
		if key != "" {
			return InvalidField.Mistaken(Mistake{Header: headerKey, Detail: each})
		}
		specs, err := r.specs(body)
		if err != nil {
			return err
		}
		return a.addSpecs(c, h, specs, true)
	}
	return InvalidField.Mistaken(Mistake{Detail: "must be a member or an array of members"})
}

// addSpecs adds members and answers with their receipts.
func (a *API) addSpecs(c *Call, h *redrive.BatchHandle, specs []redrive.Spec, many bool) error {
	receipts, err := h.Add(c.Context(), specs...)
	if err != nil {
		return enqueueProblem(err, many)
	}
	status, out := http.StatusOK, make([]MemberReceipt, len(receipts))
	for i := range receipts {
		r := &receipts[i]
		out[i] = MemberReceipt{ID: r.ID, Existing: r.Existing, State: stateOf(r)}
		if r.Skipped() {
			out[i].Status, out[i].Reason = job.StatusSkipped, job.AlreadyProcessed
		}
		if !r.Existing {
			status = http.StatusCreated
		}
	}
	if many {
		return c.JSON(status, out)
	}
	return c.JSON(status, out[0])
}

// stateOf returns the state of the job of a receipt, or draft.
func stateOf(r *redrive.Receipt) string {
	if r.State == job.None {
		return "draft"
	}
	return r.State.String()
}

// listMembers answers with a page of the members of a batch.
func (a *API) listMembers(c *Call) error {
	h, _, err := a.Batch(c)
	if err != nil {
		return err
	}
	page, next, err := a.memberPage(c, h)
	if err != nil {
		return err
	}
	if c.Outside() {
		out := OutsideMembers{Items: make([]OutsideMember, len(page.Members)), Next: next}
		for i := range page.Members {
			if out.Items[i], err = a.outsideMember(c, &page.Members[i]); err != nil {
				return err
			}
		}
		return c.JSON(http.StatusOK, out)
	}
	rows, err := a.MemberRows(c, page.Members)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, MemberList{Items: rows, Next: next})
}

// memberPage reads the page of members that the query selects, and the cursor of the next page.
func (a *API) memberPage(c *Call, h *redrive.BatchHandle) (page redrive.MemberPage, next string, err error) {
	q := &queryReader{values: c.R.URL.Query()}
	f := redrive.MemberFilter{Limit: int(q.number("limit", 1, PageMax, PageDefault))}
	switch state := q.text("state"); state {
	case "":
	case "draft":
		f.Drafts = true
	default:
		if f.State, err = job.ParseState(state); err != nil {
			q.add("state", err.Error(), nil)
		}
	}
	if err := q.problem(); err != nil {
		return page, "", err
	}
	hash := filterHash(struct {
		Batch int64
		F     redrive.MemberFilter
	}{h.ID(), redrive.MemberFilter{State: f.State, Drafts: f.Drafts}})
	at, err := parseCursor(q.text("cursor"), memberOrder, hash)
	if err != nil {
		return page, "", err
	}
	if page, err = h.Members(c.Context(), f, at.ID); err != nil {
		return page, "", err
	}
	return page, cursorOf(redrive.JobCursor{ID: page.Next}, memberOrder, hash), nil
}

// MemberRows returns members as operators see them.
func (a *API) MemberRows(c *Call, members []redrive.BatchMember) ([]MemberOut, error) {
	jobs := make([]job.Job, len(members))
	for i := range members {
		jobs[i] = members[i].Job
	}
	rows, err := a.rows(c, jobs)
	if err != nil {
		return nil, err
	}
	out := make([]MemberOut, len(members))
	for i := range members {
		out[i] = MemberOut{JobRow: rows[i], State: words.MemberState(&members[i]), Replaces: members[i].Replaces}
	}
	return out, nil
}

func (a *API) outsideMember(c *Call, m *redrive.BatchMember) (OutsideMember, error) {
	failed, err := a.latest(c, []job.Job{m.Job})
	if err != nil {
		return OutsideMember{}, err
	}
	w := a.words()
	out := OutsideMember{Key: m.Key, State: words.MemberState(m), Aside: m.Aside}
	if m.Draft() {
		out.Outside = Outside{ID: m.ID, Kind: m.Kind, Status: "draft", CreatedAt: m.CreatedAt, UpdatedAt: m.CreatedAt, Can: []string{}}
		return out, nil
	}
	view, err := a.outside(c, &m.Job, failed[m.ID], w)
	out.Outside = view.Outside
	return out, err
}

// pathMemberOf returns the batch and the member of the path.
func (a *API) pathMemberOf(c *Call) (*redrive.BatchHandle, redrive.Batch, redrive.BatchMember, error) {
	h, b, err := a.Batch(c)
	if err != nil {
		return nil, b, redrive.BatchMember{}, err
	}
	key := c.R.PathValue("key")
	m, err := h.Member(c.Context(), key)
	if errors.Is(err, redrive.ErrNotFound) || len(key) > job.TextMax {
		err = NotFound.New("batch %d: it has no member with the key %s", b.ID, strconv.QuoteToASCII(words.Shorten(key, 40)))
	}
	return h, b, m, err
}

func (a *API) getMember(c *Call) error {
	_, _, m, err := a.pathMemberOf(c)
	if err != nil {
		return err
	}
	if c.Outside() {
		out, err := a.outsideMember(c, &m)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, out)
	}
	rows, err := a.MemberRows(c, []redrive.BatchMember{m})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, rows[0])
}

package api

import (
	"context"
	"net/url"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// This file has what the pages for operators (package internal/page) share with the API, so that a
// list on a page has the filters, the cursors and the rows of the list in the API.

// Client returns the client of the API.
func (a *API) Client() *redrive.Client { return a.client }

// Options returns the options of the API.
func (a *API) Options() *Options { return &a.o }

// SeesPayloads reports whether the caller may see payloads.
func (a *API) SeesPayloads(c *Call) bool { return a.seesPayloads(c) }

// Jobs returns the page of jobs that the query selects, its rows, and the cursor of the next page.
func (a *API) Jobs(c *Call) (f redrive.JobFilter, rows []wire.JobRow, next string, searched job.Micros, err error) {
	f, page, next, err := a.jobPage(c)
	if err != nil {
		return f, nil, "", 0, err
	}
	rows, err = a.rows(c, page.Jobs)
	return f, rows, next, page.Searched, err
}

// JobRows returns the rows of jobs, without those that are not stored any more.
func (a *API) JobRows(c *Call, ids []job.ID) ([]wire.JobRow, error) {
	jobs, err := a.client.GetAll(c.Context(), ids)
	if err != nil {
		return nil, err
	}
	return a.rows(c, jobs)
}

// DeadLetters returns the page of dead letters that the query selects, and the cursor of the next page.
func (a *API) DeadLetters(c *Call) (f redrive.DeadFilter, page redrive.DeadPage, next string, err error) {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f = q.deadFilter(c)
	limit := int(q.number("limit", 1, PageMax, PageDefault))
	if err := q.problem(); err != nil {
		return f, page, "", err
	}
	hash := a.queryHash(c)
	at, err := parseCursor(q.text("cursor"), deadOrder, hash)
	if err != nil {
		return f, page, "", err
	}
	if page, err = a.client.DeadLetters(c.Context(), f, redrive.DeadPaging{Before: int64(at.ID), Limit: limit, Jobs: true}); err != nil {
		return f, page, "", err
	}
	return f, page, cursorOf(redrive.JobCursor{ID: job.ID(page.Next)}, deadOrder, hash), nil
}

// DeadFilterOf reads the filter of dead letters from the query of the page that has sent a form.
func (a *API) DeadFilterOf(c *Call, query url.Values) (redrive.DeadFilter, error) {
	q := &queryReader{values: query, now: a.o.Now()}
	f := q.deadFilter(c)
	return f, q.problem()
}

// PreviewRetry counts the dead letters of a filter that a retry would change, up to a death, and freezes the set. With
// through 0 the set ends with the newest death.
func (a *API) PreviewRetry(c *Call, f redrive.DeadFilter, through int64) (*DeadPreview, error) {
	return a.preview(c, redrive.Action{Do: redrive.ActRetry, Filter: &f, Through: through})
}

// Since reads the parameter since: a time (without zone: UTC), or a duration ago. Without it, the time is zero.
func (a *API) Since(query url.Values) (time.Time, error) {
	q := &queryReader{values: query, now: a.o.Now()}
	at := q.time("since")
	if at == 0 {
		return time.Time{}, q.problem()
	}
	return at.Time(), q.problem()
}

// Until reads a time to come: a time (without zone: UTC), or a duration from now. An empty text
// means the default.
func (a *API) Until(text string, otherwise time.Duration) (job.Micros, error) {
	if text == "" {
		return job.At(a.o.Now().Add(otherwise)), nil
	}
	return a.future("", text)
}

// DeadParams returns the parameters that DeadLetters reads.
func DeadParams() []Param { return append(deadParams(), pageParams()...) }

// JobParams returns the parameters that Jobs reads.
func JobParams() []Param { return append(listParams(), pageParams()...) }

// Details returns everything that is stored about a job. The error is NotFound for a job that the
// caller does not see.
func (a *API) Details(c *Call) (*words.Details, error) {
	j, err := a.pathJob(c)
	if err != nil {
		return nil, err
	}
	return a.details(c, &j)
}

// Group returns the group of the path.
func (a *API) Group(c *Call) (redrive.Group, error) { return a.group(c) }

// Queues returns the queues with their settings and numbers of jobs, up to a second old.
func (a *API) Queues(ctx context.Context) ([]QueueOut, error) {
	return a.queues.get(a.o.Now(), func() ([]QueueOut, error) { return a.queueViews(ctx) })
}

// Standing has the numbers that every page shows.
type Standing struct {
	Since    event.Cursor      // of the newest event when the numbers were read
	Dead     redrive.DeadStats // the numbers of dead letters
	Pending  int64             // dead letters that nobody has dealt with
	Groups   int               // groups with pending dead letters
	Redrives int               // redrives that are active
	// Partial is the number of batches in the state PARTIAL; at most PageDefault are counted. PartialMore says
	// that there are more.
	Partial     int64
	PartialMore bool
}

// LastHours has the numbers that the overview page shows.
type LastHours struct {
	Since   event.Cursor // of the newest event when the numbers were read
	Minutes []redrive.Point
	Kinds   []redrive.Point // by hour and kind, over a day
	Due     redrive.DueRetries
	// Later are the times at which waiting jobs fall due in the next hour, the earliest first: at most CountMost. LaterMore
	// says that there are more.
	Later     []job.Micros
	LaterMore bool
}

// LastHours returns the numbers of the first page. They are up to a second old, older if the reads of
// them take long.
func (a *API) LastHours(ctx context.Context) (LastHours, error) {
	return a.hours.slow(a.o.Now, func() (h LastHours, err error) {
		if _, h.Since, err = a.client.EventSpan(ctx); err != nil {
			return h, err
		}
		now := job.At(a.o.Now())
		hour := now - now%job.Micros(time.Hour/time.Microsecond)
		if h.Due, err = a.client.Due(ctx, 60); err != nil {
			return h, err
		}
		if err = h.readLater(ctx, a.client); err != nil {
			return h, err
		}
		if h.Minutes, err = a.client.Series(ctx, redrive.SeriesQuery{Since: now.Add(-time.Hour), Until: now, Step: time.Minute}); err != nil {
			return h, err
		}
		h.Kinds, err = a.client.Series(ctx, redrive.SeriesQuery{Since: hour.Add(-23 * time.Hour), Until: now, Step: time.Hour, By: redrive.ByKind})
		return h, err
	})
}

// readLater reads when waiting jobs fall due in the hour after the count of the retries.
func (h *LastHours) readLater(ctx context.Context, client *redrive.Client) error {
	f := redrive.JobFilter{States: []job.State{job.Waiting}, Order: redrive.Due, Due: redrive.Span{Since: h.Due.At, Until: h.Due.At.Add(time.Hour)}, Limit: job.PageMax}
	for len(h.Later) < CountMost {
		page, err := client.List(ctx, f)
		if err != nil {
			return err
		}
		for i := range page.Jobs {
			h.Later = append(h.Later, page.Jobs[i].RunAt)
		}
		if f.From = page.Next; f.From.IsZero() {
			return nil
		}
	}
	h.LaterMore = true
	return nil
}

// Standing returns the numbers that every page shows. They are up to a second old, older if the reads
// of them take long.
func (a *API) Standing(ctx context.Context) (Standing, error) {
	return a.standings.slow(a.o.Now, func() (s Standing, err error) {
		if _, s.Since, err = a.client.EventSpan(ctx); err != nil {
			return s, err
		}
		stats, err := a.client.DeadStats(ctx)
		if err != nil {
			return s, err
		}
		s.Dead = stats
		for i := range stats.Counts {
			if stats.Counts[i].Status == job.Pending {
				s.Pending += stats.Counts[i].N
			}
		}
		groups, err := a.client.Groups(ctx, redrive.GroupFilter{Pending: true, Limit: 1})
		if err != nil {
			return s, err
		}
		s.Groups = groups.Total
		partial, err := a.client.Batches(ctx, redrive.BatchFilter{State: job.BatchPartial})
		if err != nil {
			return s, err
		}
		s.Partial, s.PartialMore = int64(len(partial.Batches)), partial.Next != 0
		redrives, err := a.client.Redrives(ctx)
		for i := range redrives {
			if redrives[i].State.Active() {
				s.Redrives++
			}
		}
		return s, err
	})
}

// Waits says why a job waits, and returns "" for a job that does not wait.
func (a *API) Waits(ctx context.Context, d *words.Details) (string, error) {
	around, err := d.ReadAround(ctx, a.client)
	if err != nil {
		return "", err
	}
	if around != nil {
		around.Queue, around.Kind = a.o.Limits[d.Job.Queue], a.o.Kinds[d.Job.Kind].Limits
	}
	return d.Waits(around, job.At(a.o.Now())), nil
}

// OwnerView is what the owner of a job sees, in the words of the policy.
type OwnerView struct {
	Status string // the state
	Object []byte // the answer of the API to the owner
}

// OwnerViewOf returns what the owner of a job sees.
func (a *API) OwnerViewOf(c *Call, d *words.Details) (OwnerView, error) {
	out, err := a.outside(c, &d.Job, d.Last(), a.words())
	if err != nil {
		return OwnerView{}, err
	}
	object, err := out.MarshalJSON()
	return OwnerView{Status: out.Status, Object: object}, err
}

// Preview counts the dead letters that an action by a filter would change, and freezes the set.
func (a *API) Preview(c *Call, action redrive.Action) (*DeadPreview, error) {
	return a.preview(c, action)
}

// ActOnSet carries out an action on a frozen set, for at most ActTime. It reports whether more is left
// to do.
func (a *API) ActOnSet(c *Call, action redrive.Action) (done int64, more bool, err error) {
	return a.actOnSet(c, c.By(action.Note), action)
}

// CheckReason returns an error if a reason is too long.
func CheckReason(note string) error { return checkReason(note) }

// NeedReason returns an InvalidField if an action on dead letters needs a reason and has none.
func NeedReason(do redrive.Act, note string) error {
	if needReason(do, note, "") == nil {
		return nil
	}
	return InvalidField.New("Give a reason: it is kept in the audit log.")
}

// ParseRate reads a rate such as 10/s; "" and "0" mean no limit.
func ParseRate(text string) (redrive.Rate, error) { return parseRate(text) }

// JobFilterOf reads the filter of a list of jobs from a query that a form has kept, for an action on all
// jobs of the list.
func (a *API) JobFilterOf(query url.Values) (redrive.JobFilter, error) {
	q := &queryReader{values: query, now: a.o.Now()}
	f := a.filterOf(q)
	return f, q.problem()
}

// QueuesNow returns the queues with their settings and numbers of jobs as they are now.
func (a *API) QueuesNow(ctx context.Context) ([]QueueOut, error) { return a.queueViews(ctx) }

// Plain returns the text of an error of the client for people, without the name of its kind.
func Plain(err error) string { return plain(err) }

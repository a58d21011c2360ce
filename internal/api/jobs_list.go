package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// JobList is a page of jobs.
type JobList struct {
	Items []wire.JobRow `json:"items"`
	// Next is the cursor of the next page; it is left out on the last page.
	Next string `json:"next,omitempty"`
	// SearchedUntil is the time up to which the list has searched, if the page is not full although a next page follows.
	SearchedUntil job.Micros `json:"searched_until,omitempty"`
}

// OutsideList is a page of jobs in the outside view.
type OutsideList struct {
	Items         []Outside  `json:"items"`
	Next          string     `json:"next,omitempty"`
	SearchedUntil job.Micros `json:"searched_until,omitempty"`
}

// outsideList is an OutsideList with the fields that the policy adds to its jobs.
type outsideList struct {
	Items []outsideJob `json:"items"`
	OutsideList
}

// listJobs answers with a page of jobs.
func (a *API) listJobs(c *Call) error {
	_, page, next, err := a.jobPage(c)
	if err != nil {
		return err
	}
	if c.Outside() {
		list, w := outsideList{Items: make([]outsideJob, len(page.Jobs)), OutsideList: OutsideList{Next: next, SearchedUntil: page.Searched}}, a.words()
		failed, err := a.latest(c, page.Jobs)
		if err != nil {
			return err
		}
		for i := range page.Jobs {
			if list.Items[i], err = a.outside(c, &page.Jobs[i], failed[page.Jobs[i].ID], w); err != nil {
				return err
			}
		}
		return c.JSON(http.StatusOK, list)
	}
	rows, err := a.rows(c, page.Jobs)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, JobList{Items: rows, Next: next, SearchedUntil: page.Searched})
}

// jobPage reads the page of jobs that the query selects. It returns the filter, the page and the
// cursor of the next page.
func (a *API) jobPage(c *Call) (f redrive.JobFilter, page redrive.JobPage, next string, err error) {
	if f, err = a.jobFilter(c); err != nil {
		return f, page, "", err
	}
	unpaged := f
	unpaged.From, unpaged.Limit = redrive.JobCursor{}, 0
	if page, err = a.client.List(c.Context(), f); err != nil {
		return f, page, "", err
	}
	return f, page, cursorOf(page.Next, f.Order, filterHash(unpaged)), nil
}

// latest returns the last failures of those jobs that may have one.
func (a *API) latest(c *Call, jobs []job.Job) (map[job.ID]*job.Failure, error) {
	var ids []job.ID
	for i := range jobs {
		if words.MayHaveFailed(&jobs[i]) {
			ids = append(ids, jobs[i].ID)
		}
	}
	found := make(map[job.ID]*job.Failure)
	if len(ids) == 0 {
		return found, nil
	}
	list, err := a.client.Latest(c.Context(), ids)
	if err != nil {
		return nil, fmt.Errorf("read the last failures of the jobs: %w", err)
	}
	for i := range list {
		found[list[i].Job] = &list[i]
	}
	return found, nil
}

// rows returns the rows of a list: each job with its last failure and its number of attempts.
func (a *API) rows(c *Call, jobs []job.Job) ([]wire.JobRow, error) {
	latest, err := a.latest(c, jobs)
	if err != nil {
		return nil, err
	}
	rows := make([]wire.JobRow, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		rows[i].Job = *j
		var failures []job.Failure
		if last := latest[j.ID]; last != nil {
			if j.State == job.Retrying || j.State == job.Dead {
				rows[i].LastFailure = last
			}
			failures = []job.Failure{*last}
			if !words.LimitsAttempts(last) {
				if failures, err = a.client.Failures(c.Context(), j.ID); err != nil {
					return nil, fmt.Errorf("read the failures of job %d: %w", j.ID, err)
				}
			}
		}
		rows[i].MaxAttempts = words.MaxAttempts(j, failures, a.o.Kinds[j.Kind].Attempts)
	}
	return rows, nil
}

// filterOf reads the fields of a filter of jobs.
func (a *API) filterOf(q *queryReader) redrive.JobFilter {
	f := redrive.JobFilter{
		Kind: q.text("kind"), Queue: q.text("queue"), Owner: q.text("owner"), Worker: q.text("worker"), Correlation: q.text("correlation"),
		Key: q.text("key"), Class: q.text("class"), Group: q.text("group"), Text: q.text("text"), Reason: job.Reason(q.text("reason")),
		Batch: q.number("batch", 0, 1<<62, 0), Limit: int(q.number("limit", 1, PageMax, PageDefault)),
	}
	for _, word := range q.list("state") {
		s, err := job.ParseState(word)
		if err != nil {
			q.add("state", err.Error(), nil)
		}
		f.States = append(f.States, s)
	}
	if attr := q.text("attr"); attr != "" {
		name, value, ok := strings.Cut(attr, "=")
		if !ok || name == "" {
			q.add("attr", fmt.Sprintf("%.40q: must be NAME=VALUE", attr), nil)
		}
		f.Attr = redrive.JobAttr{Name: name, Value: value}
	}
	if order := q.text("order"); order != "" {
		if err := f.Order.UnmarshalText([]byte(order)); err != nil {
			q.add("order", err.Error(), nil)
		}
	}
	span := redrive.Span{Since: q.time("since"), Until: q.time("until")}
	switch f.Order {
	case redrive.Ended:
		f.Ended = span
	case redrive.Due:
		f.Due = span
	default:
		f.Created = span
	}
	return f
}

// jobFilter reads the filter of a list from the query.
func (a *API) jobFilter(c *Call) (redrive.JobFilter, error) {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f := a.filterOf(q)
	if c.Caller.Owner != "" {
		if f.Owner != "" && f.Owner != c.Caller.Owner {
			q.add("owner", "this caller may see only jobs of the owner for whom it acts; leave the parameter out", nil)
		}
		f.Owner = c.Caller.Owner
	}
	if err := q.problem(); err != nil {
		return f, err
	}
	from, err := parseCursor(q.text("cursor"), f.Order, filterHash(func() redrive.JobFilter { g := f; g.Limit = 0; return g }()))
	if err != nil {
		return f, err
	}
	f.From = from
	if err := f.Validate(); err != nil {
		return f, kindOf(err).New("%s", plain(err))
	}
	return f, nil
}

// queryReader reads parameters of a query and collects the mistakes.
type queryReader struct {
	values   url.Values
	now      time.Time
	mistakes []Mistake
	large    bool
}

func (q *queryReader) add(name, detail string, bound any) {
	q.mistakes = append(q.mistakes, Mistake{Parameter: name, Detail: detail, Bound: bound})
}

// problem returns the problem with all mistakes, or nil.
func (q *queryReader) problem() error {
	if len(q.mistakes) == 0 {
		return nil
	}
	if q.large && len(q.mistakes) == 1 {
		return TooLarge.Mistaken(q.mistakes...)
	}
	return InvalidField.Mistaken(q.mistakes...)
}

// text returns the value of a parameter, or "".
func (q *queryReader) text(name string) string {
	value := q.values.Get(name)
	if len(value) > FilterTextMax && name != "cursor" {
		q.large = true
		q.add(name, fmt.Sprintf("has %d bytes: at most %d are allowed", len(value), FilterTextMax), FilterTextMax)
		return ""
	}
	return value
}

// list returns the values of a parameter that may be repeated or have commas.
func (q *queryReader) list(name string) []string {
	var list []string
	for _, value := range q.values[name] {
		for word := range strings.SplitSeq(value, ",") {
			if word = strings.TrimSpace(word); word != "" {
				list = append(list, word)
			}
		}
	}
	return list
}

// number returns a whole number within bounds, or the default.
func (q *queryReader) number(name string, least, most, otherwise int64) int64 {
	text := q.values.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		q.add(name, fmt.Sprintf("%.40q: must be a whole number from %d to %d", text, least, most), most)
		return otherwise
	}
	return n
}

// time returns a time: a time without a zone is in UTC, and a duration counts back from now.
func (q *queryReader) time(name string) job.Micros {
	text := q.text(name)
	if text == "" {
		return 0
	}
	at, err := human.ParseTimeIn(time.UTC, text, q.now, true)
	if err != nil {
		q.add(name, err.Error(), nil)
	}
	return job.At(at)
}

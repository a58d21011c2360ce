package api

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
)

// DeadPreview says what an action on the dead letters of a filter would change. Through is the end of
// the frozen set: an action with it changes only dead letters that were counted.
type DeadPreview struct {
	Count   int64 `json:"count"`
	Through int64 `json:"through"`
	// ByKind has the number of dead letters of each kind.
	ByKind map[string]int64 `json:"by_kind"`
	// ByGroup has the number of dead letters of each cause by its fingerprint, "" without one. The pages show it.
	ByGroup map[string]int64 `json:"-"`
	// Owners is the number of different owners.
	Owners int `json:"owners"`
	// Oldest is when the first of these jobs died.
	Oldest job.Micros `json:"oldest,omitempty"`
	// Skipped is the number of dead letters that the filter selects and that the action does not change.
	Skipped int64 `json:"skipped"`
	// SearchedUntil is set if there are so many dead letters that by_kind, owners, oldest and skipped
	// count only those of jobs that died after this time.
	SearchedUntil job.Micros `json:"searched_until,omitempty"`
}

// previewReads is the largest number of pages that are read for the details of a preview.
const previewReads = 10

func (a *API) previewDead(c *Call) error {
	var in DeadActIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	action, err := a.deadAction(c, &in)
	if err != nil {
		return err
	}
	out, err := a.preview(c, action)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}

// preview counts the dead letters that an action would change, and freezes the set.
func (a *API) preview(c *Call, action redrive.Action) (*DeadPreview, error) {
	action.Limit = 0
	seen, err := a.client.Preview(c.Context(), action)
	if err != nil {
		return nil, err
	}
	out := &DeadPreview{Count: seen.Done, Through: seen.Through, ByKind: make(map[string]int64), ByGroup: make(map[string]int64)}
	f := *action.Filter
	if len(f.Statuses) == 0 {
		f.Statuses = action.Do.Statuses()
	}
	owners := make(map[string]bool)
	p := redrive.DeadPaging{Before: seen.Through + 1, Limit: PageMax}
	for range previewReads {
		page, err := a.client.DeadLetters(c.Context(), f, p)
		if err != nil {
			return nil, err
		}
		for i := range page.Entries {
			l := &page.Entries[i].DeadLetter
			if !action.Do.Takes(l, false) {
				out.Skipped++
				continue
			}
			out.ByKind[l.Kind]++
			out.ByGroup[l.Fingerprint]++
			owners[l.Owner] = true
			out.Oldest = l.DiedAt
		}
		out.SearchedUntil, p.Before = page.Searched, page.Next
		if page.Next == 0 {
			out.SearchedUntil = 0
			break
		}
	}
	out.Owners = len(owners)
	return out, nil
}

// PurgeIn is the body of a purge. Its fields can be parameters of the query instead.
type PurgeIn struct {
	BeforeDate string   `json:"before_date,omitempty" jsonschema:"maxLength=256"`
	Status     []string `json:"status,omitempty"`
	Note       string   `json:"note,omitempty" jsonschema:"maxLength=4096"`
}

// PurgeOut is the answer to a purge. The server works on it for about 20 s. If more is true, dead
// letters are left, and the same request continues.
type PurgeOut struct {
	Purged int64 `json:"purged"` // dead letters that were removed with their jobs
	More   bool  `json:"more"`
	// Through is the end of the frozen set.
	Through int64 `json:"through,omitempty"`
}

// purgeable are the statuses of the dead letters that a purge removes.
var purgeable = redrive.ActPurge.Statuses()

// purgeDead removes the resolved and ignored dead letters of jobs that died before a date.
func (a *API) purgeDead(c *Call) error {
	var in PurgeIn
	if err := c.Read(&in, true); err != nil {
		return err
	}
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	pick := func(name, body string) string {
		text := q.values.Get(name)
		if text != "" && body != "" && text != body {
			q.add(name, "differs from the body; give one of them", nil)
		}
		if text == "" {
			text = body
		}
		return text
	}
	before, note, words := pick("before_date", in.BeforeDate), pick("note", in.Note), append(q.list("status"), in.Status...)
	preview := q.flag("preview")
	f := redrive.DeadFilter{}
	for _, word := range words {
		s, err := statusOf(word)
		if err == nil && !slices.Contains(purgeable, s) {
			err = fmt.Errorf("%s: only resolved and ignored dead letters can be removed; resolve or ignore the others first", word)
		}
		if err != nil {
			q.add("status", err.Error(), nil)
		} else if !slices.Contains(f.Statuses, s) {
			f.Statuses = append(f.Statuses, s)
		}
	}
	if before == "" {
		q.add("before_date", "is missing: name the time before which the jobs have died, such as 2026-01-31", nil)
	} else if at, err := human.ParseTimeIn(time.UTC, before, q.now, true); err != nil {
		q.add("before_date", err.Error(), nil)
	} else {
		f.Until = job.At(at)
	}
	if len(note) > ReasonMax {
		q.add("note", fmt.Sprintf("has %d bytes: at most %d are allowed", len(note), ReasonMax), ReasonMax)
	}
	if err := q.problem(); err != nil {
		return err
	}
	action := redrive.Action{Do: redrive.ActPurge, Filter: &f, Note: note}
	seen, err := a.preview(c, action)
	if err != nil {
		return err
	}
	if preview {
		return c.JSON(http.StatusOK, seen)
	}
	out := PurgeOut{Through: seen.Through}
	if seen.Count > 0 {
		action.Through = seen.Through
		if out.Purged, out.More, err = a.actOnSet(c, c.By(action.Note), action); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, out)
}

package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// DeadOut is everything that is stored about a dead letter.
type DeadOut struct {
	wire.DeadEntry
	wire.DeadDetails
	// Also names other dead letters with the same outside id, the newest death first.
	Also []job.ID `json:"also,omitempty"`
}

// alsoMax is the number of dead letters that are read for an outside id.
const alsoMax = 20

// deadActsMax is the number of actions that are shown with a dead letter.
const deadActsMax = 100

// findDead returns the dead letter that the path names: by the outside id, which is the correlation
// id of its job, otherwise by the id of the job. Digits that are an outside id are not an id. If
// several dead letters have the outside id, it returns the newest, and the ids of the others.
func (a *API) findDead(c *Call, name string) (redrive.DeadEntry, []job.ID, error) {
	ctx := c.Context()
	if name != "" && len(name) <= job.TextMax && utf8.ValidString(name) {
		page, err := a.client.DeadLetters(ctx, redrive.DeadFilter{Correlation: name, Owner: c.Caller.Owner}, redrive.DeadPaging{Limit: alsoMax, Jobs: true})
		if err != nil {
			return redrive.DeadEntry{}, nil, err
		}
		if len(page.Entries) > 0 {
			var also []job.ID
			for i := range page.Entries[1:] {
				also = append(also, page.Entries[i+1].DeadLetter.Job)
			}
			return page.Entries[0], also, nil
		}
	}
	missing := NotFound.New("%.100q: there is no such dead letter", name)
	id, err := job.ParseID(name)
	if err != nil {
		return redrive.DeadEntry{}, nil, missing
	}
	letter, err := a.client.DeadLetter(ctx, id)
	if errors.Is(err, redrive.ErrNotFound) || err == nil && c.Caller.Owner != "" && c.Caller.Owner != letter.Owner {
		return redrive.DeadEntry{}, nil, missing
	}
	return redrive.DeadEntry{DeadLetter: letter}, nil, err
}

// showDead answers with a dead letter.
func (a *API) showDead(c *Call) error {
	d, also, err := a.findDead(c, c.R.PathValue("job_id"))
	if err != nil {
		return err
	}
	return a.dead(c, &d, also)
}

// dead answers with a dead letter as it is now.
func (a *API) dead(c *Call, d *redrive.DeadEntry, also []job.ID) error {
	if d.Job == nil {
		j, err := a.client.Get(c.Context(), d.DeadLetter.Job)
		if err == nil {
			d.Job = &j
		} else if !errors.Is(err, redrive.ErrNotFound) {
			return err
		}
	}
	found, err := a.deadDetails(c, d)
	if err != nil {
		return err
	}
	tag := tagOf(found.Details)
	c.W.Header().Set("Etag", tag)
	if c.R.Method == http.MethodGet && hasTag(c.R.Header.Get("If-None-Match"), tag) {
		c.W.WriteHeader(http.StatusNotModified)
		return nil
	}
	var last *job.Failure
	if n := len(found.Failures); n > 0 {
		last = &found.Failures[n-1]
	}
	entry := a.deadEntry(c, d, last)
	if c.Outside() {
		return c.JSON(http.StatusOK, entry)
	}
	if !a.seesPayloads(c) {
		found.Job.Payload = nil
		if found.Original != nil {
			found.Original.Payload = nil
		}
	}
	return c.JSON(http.StatusOK, DeadOut{DeadEntry: entry, DeadDetails: wire.DeadDetailsOf(wire.CleanedDead(found, a.cleaning()), a.way), Also: also})
}

// deadDetails reads everything that is stored about a dead letter.
func (a *API) deadDetails(c *Call, entry *redrive.DeadEntry) (*words.DeadDetails, error) {
	l, ctx := &entry.DeadLetter, c.Context()
	j := job.Job{ID: l.Job, Kind: l.Kind, Queue: l.Queue, Owner: l.Owner, Correlation: l.Correlation}
	if entry.Job != nil {
		j = *entry.Job
	}
	details, err := a.details(c, &j)
	if err != nil {
		return nil, err
	}
	d := &words.DeadDetails{Details: details}
	if d.Letter == nil {
		d.Letter = l // it was purged since
	}
	if d.Letter.Fingerprint != "" {
		groups, err := a.client.Groups(ctx, redrive.GroupFilter{Group: d.Letter.Fingerprint, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("read the group of job %d: %w", l.Job, err)
		}
		if len(groups.Groups) == 1 {
			d.Group = &groups.Groups[0]
		}
	}
	original, err := a.client.Original(ctx, l.Job)
	switch {
	case err == nil:
		d.Original = &original
	case !errors.Is(err, redrive.ErrNotFound):
		return nil, fmt.Errorf("read job %d before its first change: %w", l.Job, err)
	}
	if fatal := d.Fatal(); fatal != nil {
		operators := words.Operators{Policy: a.client.StoredPolicy}
		d.Operator = operators.Text(ctx, fatal)
	}
	acts, err := a.client.Audit(ctx, redrive.AuditFilter{Target: l.Job.String(), Actions: []string{"job.", "dead_letter."}, Limit: deadActsMax})
	if err != nil {
		return nil, fmt.Errorf("read the actions on job %d: %w", l.Job, err)
	}
	d.Acts, d.Searched = acts.Entries, acts.Searched
	if len(d.Acts) == deadActsMax {
		d.Searched = 0 // the list is full; it does not say how far the audit log was searched
	}
	slices.Reverse(d.Acts)
	return d, nil
}

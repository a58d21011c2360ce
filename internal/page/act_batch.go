package page

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// actOnBatch does what a button of a batch says. The form says what the page has shown: if the batch
// has moved on, nothing is done. A form into which a person has typed is shown again with its mistakes.
func (p *Pages) actOnBatch(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	h, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	back := fmt.Sprintf("/ui/batches/%d", b.ID)
	return p.onceTyped(a, c, in, back, func() (done, error) { return p.doOnBatch(a, c, h, &b, in) }, p.writeBatch)
}

func (p *Pages) doOnBatch(a *api.API, c *api.Call, h *redrive.BatchHandle, b *redrive.Batch, in url.Values) (done, error) {
	note := in.Get("reason")
	if err := api.CheckReason(note); err != nil {
		return done{}, err
	}
	do := c.R.PathValue("act")
	if was := in.Get("state"); was != "" && was != b.State.String() {
		return done{}, api.StateMoved.New("%s is %s now", words.BatchName(b), b.State)
	}
	switch do {
	case "publish":
		pub, err := a.Publish(c, h, note)
		return done{Text: words.PublishedText(&pub) + "."}, err
	case "retry":
		if was := in.Get("dead"); was != "" && was != strconv.FormatInt(b.Dead, 10) {
			return done{}, api.StateMoved.New("%s has %s now", words.BatchName(b), words.Count(b.Dead, "dead member"))
		}
		did, err := a.RetryDead(c, h, note)
		return done{Text: words.BatchRetried(did.Retried, did.Refused, did.More)}, err
	case "member":
		return p.retryMember(a, c, h, in)
	case "cancel":
		err := a.CancelBatch(c, h, note)
		return done{Text: "The members that waited are cancelled, and those that run are asked to stop. It cannot be undone."}, err
	case "discard":
		err := a.Discard(c, h, note, nil)
		d := done{Text: words.Count(b.Drafts+b.AsideDrafts, "draft") + " discarded."}
		if b.State == job.BatchDraft {
			d.Text, d.To = d.Text+" "+words.BatchName(b)+" is gone with its last draft.", "/ui/batches"
		}
		return d, err
	case "expire":
		return p.expire(a, c, h, b, in)
	}
	return done{}, api.NotFound.New("A batch cannot %.40q.", do)
}

// expire changes when a batch expires.
func (p *Pages) expire(a *api.API, c *api.Call, h *redrive.BatchHandle, b *redrive.Batch, in url.Values) (done, error) {
	text := in.Get("expires_at")
	at, err := a.Expiry("", text)
	if err != nil {
		return done{}, err
	}
	if _, err := h.SetExpiry(c.Context(), c.By(in.Get("reason")), at); err != nil {
		return done{}, err
	}
	was := "never"
	if b.ExpiresAt != 0 {
		was = b.ExpiresAt.Time().UTC().Format("2006-01-02T15:04:05Z")
	}
	d := done{Text: "The batch does not expire now."}
	if !at.IsZero() {
		d.Text = "The batch expires " + words.Time(job.At(at)) + "."
	}
	if b.ExpiresAt == 0 || b.ExpiresAt > job.At(a.Options().Now()) {
		d.Undo = &undo{Path: fmt.Sprintf("/ui/batches/%d/expire", b.ID), Fields: map[string]string{"expires_at": was, "reason": "undo"}}
	}
	return d, nil
}

// retryMember retries the dead member of a form.
func (p *Pages) retryMember(a *api.API, c *api.Call, h *redrive.BatchHandle, in url.Values) (done, error) {
	id, err := job.ParseID(in.Get("member"))
	if err != nil {
		return done{}, api.NotFound.New("The form names no member.")
	}
	page, err := h.Members(c.Context(), redrive.MemberFilter{Limit: 1}, id-1)
	if err != nil {
		return done{}, err
	}
	if len(page.Members) == 0 || page.Members[0].ID != id {
		return done{}, api.NotFound.New("batch %d: job %d is not its member", h.ID(), id)
	}
	m := &page.Members[0]
	if life := in.Get("life"); life != "" && life != strconv.Itoa(int(m.Life)) {
		m.State = job.Waiting // the page has shown an earlier life: it is refused as the second of two clicks
	}
	now, err := a.RetryMember(c, h, m, in.Get("reason"))
	if err != nil {
		return done{}, err
	}
	name := "job " + now.ID.String()
	if now.Key != "" {
		name = words.Shorten(words.Clean(now.Key), 60)
	}
	return done{Text: fmt.Sprintf("Retry queued for %s.", name)}, nil
}

package page

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// batchView is one batch: its counts, its members, its dead members and its ends.
type batchView struct {
	frame
	batchShares
	Batch    redrive.Batch
	Name     string
	Standing string
	Banner   string // the warning about dead members
	Waits    string // why the first member that has not ended waits
	Cells    []memberCell
	Dead     []deadMember
	MoreDead bool
	Outcomes []outcomeRow
	Facts    words.Facts
	Acts     []act
	Expired  bool
	Audit    []redrive.AuditEntry
	// In is what was typed into a form that was refused, and Wrong says why.
	In    url.Values
	Wrong []string
	At    string // the form that was refused
}

// memberCell is the square of a member.
type memberCell struct {
	Class, Text string
	Dead        bool
}

// deadMember is a dead member with its last failure.
type deadMember struct {
	api.MemberOut
	Tries string
}

// outcomeRow is an end of a batch.
type outcomeRow struct {
	redrive.BatchOutcome
	Text string
}

const (
	// cellsMost is the largest number of members that the page shows as squares.
	cellsMost = 2_000
	// deadShown is the number of dead members that the page lists.
	deadShown = 50
)

func (p *Pages) batch(a *api.API, c *api.Call) error {
	return p.writeBatch(a, c, http.StatusOK, nil, nil)
}

// writeBatch writes the page of a batch. in is what was typed into a form that leads back to the page,
// and wrong is why it was refused; both may be nil.
func (p *Pages) writeBatch(a *api.API, c *api.Call, status int, in url.Values, wrong []string) error {
	f, err := p.frame(a, c, "batches", "Batch "+words.Clean(c.R.PathValue("id")))
	if err != nil {
		return err
	}
	h, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	f.Path = fmt.Sprintf("%s/ui/batches/%d", f.Base, b.ID)
	f.Topics = fmt.Sprintf("batch:%d", b.ID)
	v := batchView{frame: f, batchShares: batchSharesOf(&b), Batch: b, Name: words.BatchName(&b), Facts: words.BatchFacts(&b, f.Now), In: in}
	v.Title, v.Heading, v.Standing, v.Banner = v.Name, words.BatchFinding(&b), words.BatchStanding(&b, f.Now), words.BatchBanner(&b)
	v.Acts, v.Expired = batchActs(&b, f.Now, f.MayOperate), b.Expired(f.Now)
	if v.Cells, err = cellsOf(c, h, &b); err != nil {
		return err
	}
	if err := v.readDead(a, c, h); err != nil {
		return err
	}
	if err := v.readWaits(a, c); err != nil {
		return err
	}
	outcomes, err := h.Outcomes(c.Context(), max(0, b.Outcome-outcomesShown))
	if err != nil {
		return err
	}
	for i := len(outcomes) - 1; i >= 0; i-- {
		v.Outcomes = append(v.Outcomes, outcomeRow{outcomes[i], words.OutcomeText(&outcomes[i])})
	}
	audit, err := a.Client().Audit(c.Context(), redrive.AuditFilter{Target: "batch " + strconv.FormatInt(b.ID, 10), Limit: happenedMax})
	if err != nil {
		return err
	}
	v.Audit = audit.Entries
	if wrong != nil {
		v.Done, v.At, v.Wrong = nil, in.Get("form"), wrong
	}
	return p.write(c.W, status, "batch", &v)
}

// outcomesShown is the number of ends that the page lists.
const outcomesShown = 20

// AuditRows returns the part of the page with the actions on the batch.
func (v *batchView) AuditRows() auditRows { return auditRows{Base: v.Base, Now: v.Now, Rows: v.Audit} }

// cellsOf returns a square for each member, and nil for a batch with too many of them.
func cellsOf(c *api.Call, h *redrive.BatchHandle, b *redrive.Batch) (cells []memberCell, err error) {
	if b.Total+b.Drafts+b.AsideDrafts > cellsMost {
		return nil, nil
	}
	for after := job.ID(0); ; {
		page, err := h.Members(c.Context(), redrive.MemberFilter{Limit: job.PageMax}, after)
		if err != nil {
			return nil, err
		}
		for i := range page.Members {
			cells = append(cells, cellOf(&page.Members[i]))
		}
		if after = page.Next; after == 0 || len(cells) > 2*cellsMost {
			return cells, nil
		}
	}
}

func cellOf(m *redrive.BatchMember) memberCell {
	state := words.MemberState(m)
	name := m.ID.String()
	if m.Key != "" {
		name = words.Shorten(words.Clean(m.Key), 60)
	}
	cell := memberCell{Text: name + ", " + state}
	if m.Aside {
		cell.Text += ", does not count"
	}
	switch m.State {
	case job.Dead:
		cell.Class, cell.Dead = "d", true
	case job.Running:
		cell.Class = "run"
	case job.Completed:
		cell.Class = "ok"
	case job.Waiting, job.Retrying, job.Cancelled, job.None:
		cell.Class = "open"
	}
	return cell
}

// readDead reads the dead members with their last failures.
func (v *batchView) readDead(a *api.API, c *api.Call, h *redrive.BatchHandle) error {
	if v.Batch.Dead == 0 {
		return nil
	}
	page, err := h.Members(c.Context(), redrive.MemberFilter{State: job.Dead, Limit: deadShown}, 0)
	if err != nil {
		return err
	}
	rows, err := a.MemberRows(c, page.Members)
	if err != nil {
		return err
	}
	for i := range rows {
		v.Dead = append(v.Dead, deadMember{rows[i], triesOf(&rows[i].Job, rows[i].MaxAttempts)})
	}
	v.MoreDead = page.Next != 0
	return nil
}

// readWaits says why a member that has not ended waits.
func (v *batchView) readWaits(a *api.API, c *api.Call) error {
	if v.Batch.Running > 0 || v.Batch.Waiting() == 0 {
		return nil
	}
	waits, err := a.MembersWaiting(c, &v.Batch)
	for i := range waits {
		if waits[i].Waits != "" {
			v.Waits = fmt.Sprintf("Job %d waits because %s.", waits[i].Job, waits[i].Waits)
			break
		}
	}
	return err
}

// batchActs returns the buttons of a batch. Those that its state or the caller's role do not allow say why.
func batchActs(b *redrive.Batch, now job.Micros, may bool) []act {
	drafts := b.Drafts + b.AsideDrafts
	publish := act{Do: "publish", Label: "Publish", Main: b.State == job.BatchDraft}
	cancel := act{Do: "cancel", Label: "Cancel its members"}
	discard := act{Do: "discard", Label: "Discard " + words.Count(drafts, "draft")}
	switch {
	case b.Expired(now):
		publish.Why = "The batch has expired; this is final."
	case drafts == 0 && b.Dead == 0:
		publish.Why = "It has no drafts and no dead members."
	}
	if b.State != job.BatchProcessing {
		cancel.Why = "No member is under way."
	}
	if drafts == 0 {
		discard.Why, discard.Label = "It has no drafts.", "Discard drafts"
	}
	for _, a := range [...]*act{&publish, &cancel, &discard} {
		if b.Task != 0 && a.Why == "" && a.Do != "publish" {
			a.Why = "The batch is being changed: " + b.Task.String() + "."
		}
		if a.Why != "" {
			a.Main = false
		}
	}
	return forbid([]act{publish, cancel, discard}, may)
}

// retryView asks before the dead members of a batch are retried.
type retryView struct {
	frame
	Batch  redrive.Batch
	Name   string
	Causes []causeCount
	More   bool // there are more dead members than were counted by cause
}

// causeCount is the number of dead members with one message.
type causeCount struct {
	Text string
	N    int64
}

// askRetry shows what a retry of the dead members would change.
func (p *Pages) askRetry(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "batches", "Retry")
	if err != nil {
		return err
	}
	h, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	v := retryView{frame: f, Batch: b, Name: words.BatchName(&b)}
	v.Heading = words.BatchRetryQuestion(&b)
	v.Lead = "The members that completed are not touched. A retry cannot be undone."
	page, err := h.Members(c.Context(), redrive.MemberFilter{State: job.Dead, Limit: job.PageMax}, 0)
	if err != nil {
		return err
	}
	rows, err := a.MemberRows(c, page.Members)
	if err != nil {
		return err
	}
	at := make(map[string]int)
	for i := range rows {
		if rows[i].Aside {
			continue
		}
		text := "no failure is stored"
		if last := rows[i].LastFailure; last != nil {
			text = words.Shorten(words.Clean(words.FirstLine(last.Message)), causeMax)
		}
		if _, ok := at[text]; !ok {
			at[text] = len(v.Causes)
			v.Causes = append(v.Causes, causeCount{Text: text})
		}
		v.Causes[at[text]].N++
	}
	v.More = page.Next != 0
	return p.write(c.W, http.StatusOK, "batch_retry", &v)
}

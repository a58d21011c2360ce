package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// broken are the uploads that four recipients get.
var broken = []string{"cut-off.mp4", "text.mp4", "empty.mp4", "removed.mp4"}

func (p *play) publishFifty(ctx context.Context) error {
	asset, err := p.asset(ctx, p.clip, "")
	if err != nil {
		return err
	}
	if p.premiere, err = p.newShow(ctx, "Premiere", asset, "visible", "on", "max_downloads", "2"); err != nil {
		return err
	}
	names := recipients(50)
	if _, err := p.done(ctx, p.premiere.path+"/tokens", "recipients", strings.Join(names[:46], "\n")); err != nil {
		return err
	}
	whole, err := os.ReadFile(p.clip)
	if err != nil {
		return err
	}
	for i, name := range broken {
		file := filepath.Join(p.dir, name)
		if err := os.WriteFile(file, [][]byte{whole[:len(whole)/2], []byte("This is no clip.\n"), nil, whole}[i], 0o600); err != nil { //nolint:gosec // the folder of the play
			return err
		}
		id, err := p.asset(ctx, file, "")
		if err != nil {
			return err
		}
		if name == "removed.mp4" {
			if err := os.Remove(filepath.Join(p.dir, "assets", id+".mp4")); err != nil {
				return err
			}
		}
		if _, err := p.done(ctx, p.premiere.path+"/tokens", "recipients", names[46+i], "asset", id); err != nil {
			return err
		}
	}
	if _, err := p.done(ctx, p.premiere.path+"/publish"); err != nil {
		return err
	}
	p.say("Premiere: published for 50 recipients; the files of four are cut off, a text, empty, and removed.")
	failed := map[string]string{}
	failure := func(e *push) bool {
		if e.name == "token_failed" {
			failed[e.text("token_id")] = e.text("error")
		}
		return len(failed) == len(broken)
	}
	if err := p.premiere.state(ctx, "PARTIAL", func(e *push) { failure(e) }); err != nil {
		return err
	}
	// The state can be ahead of the last failures in the stream.
	if len(failed) < len(broken) {
		if err := await(ctx, p.premiere.stream, "four events token_failed", failure); err != nil {
			return err
		}
	}
	return p.partial(ctx, failed)
}

// partial checks the campaign of 50 after its first end.
func (p *play) partial(ctx context.Context, failed map[string]string) error {
	v, err := p.shown(ctx, p.premiere)
	if err != nil {
		return err
	}
	b, err := p.client.BatchHandle(v.Batch).Get(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(want("completed", b.Completed, 46), want("dead", b.Dead, 4), want("outcomes", b.Outcome, 1), want("events token_failed", len(failed), 4)); err != nil {
		return err
	}
	executions := map[string]int{}
	for i := range v.Tokens {
		j, err := p.jobOfToken(ctx, v.Tokens[i].ID)
		if err != nil {
			return err
		}
		executions[fmt.Sprintf("%s after %d", j.State, j.Token)]++
		if v.Tokens[i].Status == badgeFailed {
			if err := want("the error of a token", failed[v.Tokens[i].ID], v.Tokens[i].Error); err != nil {
				return err
			}
		}
	}
	page, err := p.get(ctx, p.premiere.path)
	if err != nil {
		return err
	}
	list, err := p.get(ctx, "/campaigns")
	if err != nil {
		return err
	}
	const banner = "Warning: 4 watermarking job(s) failed permanently. Use the retry buttons below to re-attempt individual tokens."
	err = errors.Join(
		want("completed after 1 execution", executions["completed after 1"], 46), want("dead after 1 execution", executions["dead after 1"], 4),
		want("banners", strings.Count(page.text(), banner), 1),
		want("retry buttons", strings.Count(page.body, `class="retry-form"`), 4),
		want("amber badges", strings.Count(list.body, `title="Some watermarking jobs failed. Click to review."`), 1),
	)
	if err != nil {
		return err
	}
	p.say("Premiere: PARTIAL, 46 completed and 4 dead after 1 execution each. %s", banner)
	for i := range v.Tokens {
		if t := &v.Tokens[i]; t.Status == badgeFailed {
			p.say("  %s, %s: %s", t.Recipient, t.File, t.Error)
		}
	}
	return nil
}

// jobOfToken returns the job of a token.
func (p *play) jobOfToken(ctx context.Context, token string) (j job.Job, err error) {
	var id job.ID
	if err := p.db.QueryRowContext(ctx, `SELECT job FROM tokens WHERE id = ?`, token).Scan(&id); err != nil {
		return j, err
	}
	return p.client.Get(ctx, id)
}

// mend uploads the damaged files again, and clicks on retry: once for three of the tokens, and 20 times
// at once for the fourth.
func (p *play) mend(ctx context.Context) error {
	v, err := p.shown(ctx, p.premiere)
	if err != nil {
		return err
	}
	_, files, err := p.campaigns(ctx, &account{ID: "ann"})
	if err != nil {
		return err
	}
	for i := range files {
		for _, name := range broken {
			if files[i].Name == name {
				if _, err := p.asset(ctx, p.clip, files[i].ID); err != nil {
					return err
				}
			}
		}
	}
	// Until all four are clicked on, no copy is made: else the first one could end the campaign once more.
	if err := p.pause(ctx, store.Paused); err != nil {
		return err
	}
	clicked := false
	for i := range v.Tokens {
		t := &v.Tokens[i]
		if t.Status != badgeFailed {
			continue
		}
		path := p.premiere.path + "/tokens/" + t.ID + "/retry"
		if clicked {
			if to, err := p.done(ctx, path); err != nil || to != p.premiere.path {
				return fmt.Errorf("retry of %s leads to %q: %w", t.Recipient, to, err)
			}
			continue
		}
		clicked = true
		if err := p.race(ctx, path); err != nil {
			return err
		}
		page, err := p.get(ctx, p.premiere.path)
		if err != nil {
			return err
		}
		if err := want("the answer to the click", strings.Count(page.text(), "Retry queued for "+t.Recipient+"."), 1); err != nil {
			return err
		}
	}
	if err := p.premiere.state(ctx, "PROCESSING", nil); err != nil {
		return err
	}
	if err := p.pause(ctx, store.Open); err != nil {
		return err
	}
	p.say("Premiere: the files are uploaded again, and the four are retried: PROCESSING. Of 20 clicks at once on one button, one was taken; 19 got 400 \"Token is not in a failed state.\"")
	if err := p.premiere.state(ctx, "READY", nil); err != nil {
		return err
	}
	outcomes, err := p.client.BatchHandle(v.Batch).Outcomes(ctx, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(want("outcomes", len(outcomes), 2), want("completed", outcomes[len(outcomes)-1].Completed, 50)); err != nil {
		return err
	}
	p.say("Premiere: READY, 50 completed. Its outcomes: 1 PARTIAL, 2 READY.")
	return nil
}

// pause sets the mode of the queue.
func (p *play) pause(ctx context.Context, mode store.Mode) error {
	_, err := p.client.SetQueue(ctx, redrive.By{Actor: "the play"}, redrive.QueueChange{Name: redrive.DefaultQueue, Mode: &mode})
	return err
}

// notices checks the mails and the webhooks of the whole play: each came once.
func (p *play) notices(ctx context.Context) error {
	wantMails := []string{
		"Premiere: 46 of 50 copies are ready, 4 failed", "Premiere: all 50 copies are ready", "Premiere: the copy for Recipient 47 failed",
		"Premiere: the copy for Recipient 48 failed", "Premiere: the copy for Recipient 49 failed", "Premiere: the copy for Recipient 50 failed",
		"Preview: the copy for Yan failed", "Preview: the only copy failed", "Preview: the only copy is ready", "Trailer: the only copy is ready",
	}
	wantHooks := []string{
		"campaign_ready Premiere: PARTIAL 46/50, 4 failed", "campaign_ready Premiere: READY 50/50, 0 failed", "campaign_ready Preview: FAILED 0/1, 1 failed",
		"campaign_ready Preview: READY 1/1, 0 failed", "campaign_ready Trailer: READY 1/1, 0 failed",
	}
	if err := p.box.await(ctx, len(wantMails), len(wantHooks)); err != nil {
		return err
	}
	mails, hooks := p.box.arrived()
	err := errors.Join(want("mails", strings.Join(mails, "\n"), strings.Join(wantMails, "\n")), want("webhooks", strings.Join(hooks, "\n"), strings.Join(wantHooks, "\n")))
	if err != nil {
		return err
	}
	out, err := p.get(ctx, "/outbox")
	if err := errors.Join(err, want("mails that Ann sees", strings.Count(out.body, "Subject: "), len(mails))); err != nil {
		return err
	}
	p.say("Ann has %d mails, each once (/outbox), and the shop %d webhooks with a good signature:", len(mails), len(hooks))
	for _, line := range append(mails, hooks...) {
		p.say("  %s", line)
	}
	return nil
}

// race clicks 20 times at once.
func (p *play) race(ctx context.Context, path string) error {
	const clicks = 20
	answers := make([]answered, clicks)
	errs := make([]error, clicks)
	var all sync.WaitGroup
	for i := range clicks {
		all.Go(func() { answers[i], errs[i] = p.post(ctx, path) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	counts := map[string]int{}
	for i := range answers {
		counts[fmt.Sprintf("%d %s", answers[i].status, strings.TrimSpace(answers[i].body))]++
	}
	return errors.Join(want("clicks that were taken", counts["303 "], 1), want("clicks that came too late", counts["400 Token is not in a failed state."], clicks-1))
}

// consume downloads one copy until its downloads are used up.
func (p *play) consume(ctx context.Context) error {
	v, err := p.shown(ctx, p.premiere)
	if err != nil {
		return err
	}
	token := v.Tokens[0].ID
	stream, err := p.listen(ctx, "", "token:"+token)
	if err != nil {
		return err
	}
	for i, status := range []int{http.StatusOK, http.StatusOK, http.StatusGone} {
		a, err := p.get(ctx, "/t/"+token)
		if err := errors.Join(err, want(fmt.Sprintf("download %d", i+1), a.status, status)); err != nil {
			return err
		}
	}
	err = await(ctx, stream, "the badge CONSUMED", func(e *push) bool { return e.name == "token" && e.text("status") == badgeConsumed })
	if err != nil {
		return err
	}
	p.say("Premiere: %s downloads the copy twice: CONSUMED. The third time: 410.", v.Tokens[0].Recipient)
	return nil
}

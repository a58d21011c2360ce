package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// play is the story: a campaign of 50 whose files are damaged for four recipients, a program that is
// missing, and a worker that is killed. Each step is checked.
type play struct {
	*app
	*player
	o       *options
	out     io.Writer
	worker  *worker
	clip    string // files that can be read
	long    string
	started time.Time

	stalled, missing, premiere *show
}

// show is a campaign of the play.
type show struct {
	id, path string
	batch    int64
	stream   <-chan push
}

// playAll plays the whole story, and says what happens and how long it takes.
func playAll(ctx context.Context, o *options, out io.Writer) (err error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	defer stop()
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "watermark-play-"); err != nil {
			return err
		}
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	// The program for invisible marks is written in a language that is not installed.
	o.stamp = filepath.Join(o.dir, "stamp")
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(o.stamp, []byte("#!/usr/bin/env watermark-python\n"), 0o755); err != nil {
		return err
	}
	a, err := open(ctx, o.settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.addAccount(ctx, "ann", "Ann", "ann@example.com", "ann"); err != nil {
		return err
	}
	address, closing, err := a.serve(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer closing()
	p := &play{app: a, o: o, out: out, started: time.Now(), clip: filepath.Join(o.dir, "premiere.mp4"), long: filepath.Join(o.dir, "long.mp4")}
	if p.player, err = newPlayer(address); err != nil {
		return err
	}
	if p.worker, err = o.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.worker.stop()) }()
	fmt.Fprintf(out, "The pages: %s. The files: %s. Time passes %d times faster.\n\n", address, o.dir, o.clock.factor)
	for _, step := range []func(context.Context) error{p.prepare, p.kill, p.interpreter, p.publishFifty, p.mend, p.consume, p.exactWaits, p.lifeSign, p.marks} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nAll of it took %.1f s.\n", time.Since(p.started).Seconds())
	return nil
}

// say prints a line with the time of the fast clock.
func (p *play) say(format string, args ...any) {
	at := p.clock.Now().Sub(p.clock.epoch).Round(time.Second)
	fmt.Fprintf(p.out, "%3d:%02d  %s\n", int(at.Minutes()), int(at.Seconds())%60, fmt.Sprintf(format, args...))
}

// want returns an error unless two values are the same.
func want[T comparable](what string, got, wanted T) error {
	if got == wanted {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, got, wanted)
}

func (p *play) prepare(ctx context.Context) error {
	if err := p.login(ctx, "ann@example.com", "ann"); err != nil {
		return err
	}
	if err := p.makeClip(ctx, p.clip, "320x180", 2); err != nil {
		return err
	}
	return p.repeatClip(ctx, p.clip, p.long, 40)
}

// asset uploads a file and returns the id of the asset.
func (p *play) asset(ctx context.Context, file, replace string) (string, error) {
	a, err := p.player.upload(ctx, "/assets", file, replace)
	if _, err := taken(a, err); err != nil {
		return "", fmt.Errorf("upload %s: %w", filepath.Base(file), err)
	}
	return a.head.Get("Asset-Id"), nil
}

// newShow makes a campaign and follows it.
func (p *play) newShow(ctx context.Context, name, asset string, fields ...string) (*show, error) {
	path, err := p.done(ctx, "/campaigns", append([]string{"name", name, "asset", asset}, fields...)...)
	if err != nil {
		return nil, fmt.Errorf("create the campaign %s: %w", name, err)
	}
	s := &show{id: strings.TrimPrefix(path, "/campaigns/"), path: path}
	v, err := p.shown(ctx, s)
	if err != nil {
		return nil, err
	}
	s.batch = v.Batch
	s.stream, err = p.listen(ctx, "", "campaign:"+s.id)
	return s, err
}

// shown reads a campaign as the pages show it.
func (p *play) shown(ctx context.Context, s *show) (campaignView, error) {
	return p.page(ctx, &account{ID: "ann"}, s.id)
}

// kill publishes a campaign of one long clip, and kills the worker in the middle.
func (p *play) kill(ctx context.Context) error {
	asset, err := p.asset(ctx, p.long, "")
	if err != nil {
		return err
	}
	if p.stalled, err = p.newShow(ctx, "Trailer", asset, "visible", "on"); err != nil {
		return err
	}
	if _, err := p.done(ctx, p.stalled.path+"/tokens", "recipients", "Zoe"); err != nil {
		return err
	}
	if _, err := p.done(ctx, p.stalled.path+"/publish"); err != nil {
		return err
	}
	err = await(ctx, p.stalled.stream, "the badge PROCESSING", func(e *push) bool { return e.text("status") == badgeProcessing })
	if err != nil {
		return err
	}
	if err := p.worker.kill(); err != nil {
		return err
	}
	p.say("Trailer: the worker is killed (SIGKILL) while it makes the copy for Zoe; another worker starts.")
	p.worker, err = p.o.start(ctx)
	return err
}

// interpreter publishes a campaign of one copy whose mark is written by a program that cannot run.
func (p *play) interpreter(ctx context.Context) error {
	asset, err := p.asset(ctx, p.clip, "")
	if err != nil {
		return err
	}
	if p.missing, err = p.newShow(ctx, "Preview", asset, "invisible", "on"); err != nil {
		return err
	}
	if _, err := p.done(ctx, p.missing.path+"/tokens", "recipients", "Yan"); err != nil {
		return err
	}
	_, err = p.done(ctx, p.missing.path+"/publish")
	p.say("Preview: published; the interpreter of the program for invisible marks is not installed.")
	return err
}

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
		if err := os.WriteFile(file, [][]byte{whole[:len(whole)/2], []byte("This is no clip.\n"), nil, whole}[i], 0o600); err != nil {
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
	err = state(ctx, p.premiere.stream, "PARTIAL", func(e *push) {
		if e.name == "token_failed" {
			failed[e.text("token_id")] = e.text("error")
		}
	})
	if err != nil {
		return err
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
	if err := state(ctx, p.premiere.stream, "PROCESSING", nil); err != nil {
		return err
	}
	p.say("Premiere: the files are uploaded again, and the four are retried: PROCESSING. Of 20 clicks at once on one button, one was taken; 19 got 400 \"Token is not in a failed state.\"")
	if err := state(ctx, p.premiere.stream, "READY", nil); err != nil {
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

// exactWaits waits for the death of the job whose interpreter is missing, and installs it.
func (p *play) exactWaits(ctx context.Context) error {
	var badges []string
	err := state(ctx, p.missing.stream, "FAILED", func(e *push) {
		if n := e.number("retry_count"); e.name == "token" && n > 0 {
			if badge := fmt.Sprintf("%d/%d", n, e.number("max_retries")); len(badges) == 0 || badges[len(badges)-1] != badge {
				badges = append(badges, badge)
			}
		}
	})
	if err != nil {
		return err
	}
	v, err := p.shown(ctx, p.missing)
	if err != nil {
		return err
	}
	j, err := p.jobOfToken(ctx, v.Tokens[0].ID)
	if err != nil {
		return err
	}
	var waits []string
	for e, err := range p.client.Events(ctx, event.Cursor{}, &redrive.EventsOptions{StopAtEnd: true}) {
		if err != nil {
			return err
		}
		if e.Job == j.ID && e.Type == event.JobFailed && e.To == job.Retrying {
			waits = append(waits, (e.DueAt.Time().Sub(e.At.Time())).String())
		}
	}
	failures, err := p.client.Failures(ctx, j.ID)
	if err != nil {
		return err
	}
	last := &failures[len(failures)-1]
	exit := -1
	if last.Exit != nil {
		exit = *last.Exit
	}
	err = errors.Join(want("waits", strings.Join(waits, ", "), "1m0s, 5m0s, 15m0s"), want("executions", int(j.Token), 4),
		want("badges", strings.Join(badges, ", "), "1/3, 2/3, 3/3"), want("exit code", exit, 127))
	if err != nil {
		return err
	}
	p.say("Preview: FAILED after 4 executions (exit code %d), with waits of exactly %s; its badges were %s.", exit, strings.Join(waits, ", "), strings.Join(badges, ", "))
	if err := os.WriteFile(p.stamp, stampScript, 0o755); err != nil {
		return err
	}
	if _, err := p.done(ctx, p.missing.path+"/tokens/"+v.Tokens[0].ID+"/retry"); err != nil {
		return err
	}
	if err := state(ctx, p.missing.stream, "READY", nil); err != nil {
		return err
	}
	p.say("Preview: the interpreter is installed, a click on retry: READY.")
	return nil
}

// lifeSign waits until the job of the killed worker is back.
func (p *play) lifeSign(ctx context.Context) error {
	if err := state(ctx, p.stalled.stream, "READY", nil); err != nil {
		return err
	}
	v, err := p.shown(ctx, p.stalled)
	if err != nil {
		return err
	}
	j, err := p.jobOfToken(ctx, v.Tokens[0].ID)
	if err != nil {
		return err
	}
	var claimed, back time.Time
	for e, err := range p.client.Events(ctx, event.Cursor{}, &redrive.EventsOptions{StopAtEnd: true}) {
		switch {
		case err != nil:
			return err
		case e.Job != j.ID:
		case e.Type == event.JobClaimed && claimed.IsZero():
			claimed = e.At.Time()
		case e.Type == event.JobCrashed && e.To == job.Waiting:
			back = e.At.Time()
		}
	}
	silent := back.Sub(claimed).Round(time.Second)
	if silent < lease || silent > lease+10*time.Minute {
		return fmt.Errorf("the job was waiting again after %s without a sign of life, want about 30 min", silent)
	}
	err = errors.Join(want("crashes", int(j.Counters.Crashes), 1), want("executions that count", int(j.Counters.Attempts), 1), want("retries", v.Tokens[0].RetryCount, 0))
	if err != nil {
		return err
	}
	p.say("Trailer: after %s without a sign of life the job of the killed worker was waiting again, with 0 retries used up; now it is READY.", silent)
	return nil
}

// marks finds out whose copy a file is, with a kind of job that is not retried.
func (p *play) marks(ctx context.Context) error {
	v, err := p.shown(ctx, p.missing)
	if err != nil {
		return err
	}
	copyOf := filepath.Join(p.dir, "copies", v.Tokens[0].ID+".mp4")
	for _, file := range []string{copyOf, filepath.Join(p.dir, "text.mp4")} {
		if _, err := taken(p.player.upload(ctx, p.missing.path+"/detect", file, "")); err != nil {
			return err
		}
	}
	err = await(ctx, p.missing.stream, "the end of both searches", func(e *push) bool {
		v, err = p.shown(ctx, p.missing)
		return err != nil || v.Detections[0].State == "FAILED" && v.Detections[1].State == "COMPLETED"
	})
	if err != nil {
		return err
	}
	if err := errors.Join(want("the campaign", v.State, job.BatchReady), want("the result", v.Detections[1].Result, "the copy for Yan")); err != nil {
		return err
	}
	p.say("Preview: the mark in a copy says: %s. A text is no copy: the search failed after 1 execution, and the campaign is %s still.", v.Detections[1].Result, v.State)
	return nil
}

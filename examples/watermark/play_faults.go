package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

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
	badge := ""
	err = await(ctx, p.stalled.stream, "the badge PROCESSING", func(e *push) bool {
		badge = e.text("status")
		return badge == badgeProcessing || badge == badgeActive
	})
	if err := errors.Join(err, want("the badge of the copy for Zoe", badge, badgeProcessing)); err != nil {
		return err
	}
	if err := p.worker.kill(); err != nil {
		return err
	}
	p.killed = p.clock.Now()
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

// exactWaits waits for the death of the job whose interpreter is missing, and installs it.
func (p *play) exactWaits(ctx context.Context) error {
	var badges []string
	err := p.missing.state(ctx, "FAILED", func(e *push) {
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
		want("badges 1/3, 2/3 and 3/3 in their order", inOrder(badges, "1/3", "2/3", "3/3"), true), want("exit code", exit, 127))
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
	if err := p.missing.state(ctx, "READY", nil); err != nil {
		return err
	}
	p.say("Preview: the interpreter is installed, a click on retry: READY.")
	return nil
}

// inOrder reports whether badges are some of the wanted ones in their order, and the last one is there: the
// stream has a badge as it is when a frame is written, so a short one can be missed on a busy machine.
func inOrder(badges []string, wanted ...string) bool {
	if len(badges) == 0 || badges[len(badges)-1] != wanted[len(wanted)-1] {
		return false
	}
	for _, badge := range badges {
		at := slices.Index(wanted, badge)
		if at < 0 {
			return false
		}
		wanted = wanted[at+1:]
	}
	return true
}

// lifeSign waits until the job of the killed worker is back.
func (p *play) lifeSign(ctx context.Context) error {
	if err := p.stalled.state(ctx, "READY", nil); err != nil {
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
	if silent < lease || back.Before(p.killed) {
		return fmt.Errorf("the job was waiting again %s after its claim and %s after its worker was killed, want at least 30 min", silent, back.Sub(p.killed))
	}
	err = errors.Join(want("crashes", int(j.Counters.Crashes), 1), want("executions that count", int(j.Counters.Attempts), 1), want("retries", v.Tokens[0].RetryCount, 0))
	if err != nil {
		return err
	}
	p.say("Trailer: %s after its claim the job of the killed worker was waiting again, with 0 retries used up; now it is READY.", silent)
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

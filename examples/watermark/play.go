package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	killed  time.Time // when the worker was killed

	stalled, missing, premiere *show
}

// show is a campaign of the play.
type show struct {
	id, path string
	batch    int64
	stream   <-chan push
	last     string // the state that the stream said last
}

// state waits for a state of the campaign. The stream has states as they are when a frame is written: one
// can come twice, which is no change. Another end than the one that is waited for is an error.
func (s *show) state(ctx context.Context, want string, also func(*push)) error {
	ended := ""
	err := await(ctx, s.stream, "the campaign to be "+want, func(e *push) bool {
		if also != nil {
			also(e)
		}
		now := e.text("state")
		if e.name != "campaign" || now == s.last {
			return false
		}
		s.last = now
		if now != want && now != badgeProcessing && now != job.BatchDraft.String() {
			ended = now
		}
		return now == want || ended != ""
	})
	if err == nil && ended != "" {
		err = fmt.Errorf("the campaign is %s, want %s", ended, want)
	}
	return err
}

// playAll plays the whole story, and says what happens and how long it takes.
func playAll(ctx context.Context, o *options, out io.Writer) (err error) {
	ctx, stop := context.WithTimeout(ctx, 8*time.Minute)
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
	o.smtp = a.smtp
	p := &play{app: a, o: o, out: out, started: time.Now(), clip: filepath.Join(o.dir, "premiere.mp4"), long: filepath.Join(o.dir, "long.mp4")}
	if p.player, err = newPlayer(address); err != nil {
		return err
	}
	if p.worker, err = o.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.worker.stop()) }()
	fmt.Fprintf(out, "The pages: %s. The files: %s. Time passes %d times faster.\n\n", address, o.dir, o.fast.factor)
	for _, step := range []func(context.Context) error{p.prepare, p.kill, p.interpreter, p.publishFifty, p.mend, p.consume, p.exactWaits, p.lifeSign, p.marks, p.notices} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nAll of it took %.1f s.\n", time.Since(p.started).Seconds())
	return nil
}

// say prints a line with the time of the fast clock.
func (p *play) say(format string, args ...any) {
	at := p.clock.Now().Sub(p.o.fast.epoch).Round(time.Second)
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

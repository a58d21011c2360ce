// Package outage makes a database in the hour after an outage, with three causes of dead jobs: storage that took no writes
// for 20 minutes and works again, mail servers that did not answer and work again, and a quota that is used up until a
// person buys more. The pages are tried on it, by people and by tests.
package outage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store/sqlite"
)

// The kinds of the jobs.
const (
	Render     = redrive.Kind[Video]("video.render")
	Transcribe = redrive.Kind[Video]("video.transcribe")
	Receipt    = redrive.Kind[Mail]("receipt.send")
	Preview    = redrive.Kind[Video]("video.preview")
)

// Video is the payload of a job about a video.
type Video struct {
	Video   string `json:"video"`
	Quality string `json:"quality,omitempty"`
}

// Mail is the payload of a job that sends a mail.
type Mail struct {
	To    string `json:"to"`
	Order int    `json:"order"`
}

// The hour, in minutes before its end.
const (
	hour         = 60
	storageFrom  = 47
	storageUntil = 27
	quotaFrom    = 39
	mailFrom     = 44
	mailUntil    = 31
)

// world is what the jobs depend on.
type world struct {
	clock clock
	min   int           // minutes until the hour is over
	run   time.Duration // of each job, after the hour
}

// within reports whether the hour is between two of its minutes, which count down.
func (w *world) within(from, until int) bool { return w.min <= from && w.min > until }

// Play makes the hour in a new file and returns the client and the store. After it, the jobs meet storage
// and mail servers that work, and take the given time each.
func Play(ctx context.Context, path string, run time.Duration) (*redrive.Client, *sqlite.Store, error) {
	w := &world{min: hour}
	w.clock.set(hour * time.Minute)
	st, err := sqlite.Open(ctx, path, &sqlite.Options{Clock: w.clock.Now})
	if err != nil {
		return nil, nil, err
	}
	client, err := w.play(ctx, st)
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	w.run = run
	return client, st, nil
}

func (w *world) play(ctx context.Context, st *sqlite.Store) (*redrive.Client, error) {
	client, err := redrive.New(st, &redrive.Config{Name: "worker-1", Build: "2026.11.3", Clock: &w.clock, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	w.handle(client)
	n := 0
	for ; w.min >= 0; w.min-- {
		w.clock.set(time.Duration(w.min) * time.Minute)
		specs := w.minute(&n)
		if w.min == 0 { // of the newest minute, something waits and something is planned
			for range 12 {
				n++
				specs = append(specs, Preview.New(Video{Video: fmt.Sprintf("v-%d", n)}, &redrive.Options{Owner: owner(n), RunAt: w.clock.Now().Add(time.Duration(n%9+1) * 5 * time.Minute)}))
			}
		}
		if _, err := client.EnqueueMany(ctx, specs); err != nil {
			return nil, err
		}
		if err := w.runMinute(ctx, client); err != nil {
			return nil, err
		}
	}
	return client, nil
}

// step is the time between two looks for due jobs within the hour: a retry starts at most so much later than it is due.
const step = 10 * time.Second

// runMinute runs the jobs that are due in the present minute of the hour.
func (w *world) runMinute(ctx context.Context, client *redrive.Client) error {
	behind := time.Duration(w.min) * time.Minute
	for at := behind; at > behind-time.Minute; at -= step {
		w.clock.set(max(at, 0))
		if err := client.RunUntilIdle(ctx); err != nil || w.min == 0 {
			return err
		}
	}
	return nil
}

// minute returns the jobs that are enqueued in a minute.
func (w *world) minute(n *int) (specs []redrive.Spec) {
	add := func(many int, spec func(n int, o *redrive.Options) redrive.Spec) {
		for range many {
			*n++
			specs = append(specs, spec(*n, &redrive.Options{Owner: owner(*n), Correlation: fmt.Sprintf("upload-%d", *n/4)}))
		}
	}
	video := func(kind redrive.Kind[Video]) func(int, *redrive.Options) redrive.Spec {
		return func(n int, o *redrive.Options) redrive.Spec {
			return kind.New(Video{Video: fmt.Sprintf("v-%d", n), Quality: "1080p"}, o)
		}
	}
	add(14, video(Render))
	add(9, video(Preview))
	add(3, video(Transcribe))
	add(4, func(n int, o *redrive.Options) redrive.Spec {
		return Receipt.New(Mail{To: owner(n) + "@example.com", Order: 40_000 + n}, o)
	})
	return specs
}

func owner(n int) string {
	return [...]string{"acme", "borealis", "cantina", "delta-film", "estudio-nueve"}[n*7%5]
}

// handle registers the handlers.
func (w *world) handle(client *redrive.Client) {
	work := func(ctx context.Context) error {
		timer := time.NewTimer(w.run)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		}
	}
	redrive.Handle(client, Render, func(ctx context.Context, j *redrive.Job[Video]) error {
		if w.within(storageFrom, storageUntil) {
			return fmt.Errorf("put rendered/%s.mp4: 503 Service Unavailable: the bucket takes no writes", j.Args.Video)
		}
		return work(ctx)
	}, nil)
	redrive.Handle(client, Transcribe, func(ctx context.Context, _ *redrive.Job[Video]) error {
		if w.min <= quotaFrom {
			return errors.New("429 insufficient_quota: You exceeded your current quota, please check your plan and billing details")
		}
		return work(ctx)
	}, nil)
	redrive.Handle(client, Receipt, func(ctx context.Context, _ *redrive.Job[Mail]) error {
		if w.within(mailFrom, mailUntil) {
			return errors.New("connect to mail.internal:587: i/o timeout")
		}
		return work(ctx)
	}, nil)
	redrive.Handle(client, Preview, func(ctx context.Context, _ *redrive.Job[Video]) error { return work(ctx) }, nil)
}

package selfbench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/notify"
)

// noticeRules are three rules: one for each job that dies, for new causes, and for batches.
var noticeRules = notify.Rules{
	Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}, "hook": {Type: notify.Webhook}},
	Rules: []notify.Rule{
		{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"ops@example.com"}, Team: true},
		{On: []notify.Event{notify.GroupFirst}, Channel: "mail", To: []string{"lead@example.com"}, Team: true},
		{On: []notify.Event{notify.BatchEnd}, Channel: "hook", To: []string{"shop"}},
	},
}

// noticeFigures prints what rules of notifications cost jobs that die and jobs that complete: on SQLite and, unless the
// DSN is empty, on PostgreSQL.
func (b *bencher) noticeFigures(ctx context.Context, p *printer, dsn string) error {
	for _, on := range stores(dsn) {
		dead, done := allFailing(b.load.Jobs), succeeding(b.load.Jobs)
		r, err := b.measure(ctx,
			b.withRules(on, "all dying", dead, nil), b.withRules(on, "all dying, three rules", dead, &noticeRules),
			b.withRules(on, "all completing", done, nil), b.withRules(on, "all completing, three rules", done, &noticeRules))
		if err != nil {
			return err
		}
		err = errors.Join(
			p.ofRate("dying jobs under three rules on "+on.name, ratio(r[1], r[0]), "without rules", 0.95),
			p.ofRate("completing jobs under three rules on "+on.name, ratio(r[3], r[2]), "without rules", 0.99))
		if err != nil {
			return err
		}
	}
	return nil
}

// withRules is the scenario that runs jobs while rules are in force.
func (b *bencher) withRules(on measuredOn, name string, w *work, rules *notify.Rules) scenario {
	return scenario{name, w.attempts, func(ctx context.Context, dir string, _ int) (took time.Duration, err error) {
		ctx, cancel := context.WithTimeout(ctx, runMax)
		defer cancel()
		place := on.place(dir)
		s, err := place.open(ctx)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, s.Close(), place.remove(context.WithoutCancel(ctx))) }()
		c, err := newBench(s, filepath.Join(dir, "work"), b.load.Workers, w.attempt)
		if err != nil {
			return 0, err
		}
		if _, err := c.client.PublishNotify(ctx, redrive.By{Actor: "bench"}, rules); err != nil {
			return 0, fmt.Errorf("publish the rules: %w", err)
		}
		if err := c.preload(ctx, w.jobs, b.load.Payload); err != nil {
			return 0, err
		}
		start := time.Now()
		err = c.work(ctx, w.attempts)()
		return time.Since(start), err
	}}
}

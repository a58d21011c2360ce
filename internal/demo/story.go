package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The longest times of the acts. If an act takes longer, the demo continues and fails at
// the end.
const (
	firstLimit   = 35 * time.Second
	redriveLimit = 15 * time.Second
)

// canary is the number of jobs that a redrive of the demo releases first.
const canary = 5

// play runs the acts of the demo. It stops the systems at the end.
func (s *stage) play(ctx context.Context) error {
	if err := enqueue(ctx, s.systems, s.jobs); err != nil {
		return err
	}
	s.introduce()
	running, stop := run(ctx, s.systems)
	err := s.acts(running)
	if stopped := stop(); err == nil {
		err = stopped
	}
	return err
}

func (s *stage) acts(ctx context.Context) error {
	for _, act := range []func(context.Context) error{s.theUpstreamFails, s.theCauseIsStillThere, s.theCauseIsMended} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// introduce prints a description of the demo.
func (s *stage) introduce() {
	v := &s.view
	v.say(v.bold(fmt.Sprintf("%d jobs of five systems, a real engine and a real file, %s.", len(s.jobs), s.Path)),
		"Each system has the preset of its name as its policy. The demo shortens the waits; those of the default, and by how much:", "")
	for i := range s.systems {
		v.say(waitsOf(&s.systems[i]))
	}
	v.say("")
}

// waitsOf describes how the waits of a preset were shortened.
func waitsOf(sys *system) string {
	b := sys.policy.Spec().Default.Backoff
	longer := *b
	longer.Waits = slices.Clone(b.Waits)
	eachWait(&longer, func(d time.Duration) time.Duration { return d * time.Duration(sys.divisor) })
	return fmt.Sprintf("  %-12s%-30s by %-4d  %s", sys.kind, longer.Growth(), sys.divisor, b.Growth())
}

// begin starts an act.
func (s *stage) begin(title string) {
	s.title = title
	if !s.view.screen.Terminal {
		s.view.say("", title)
	}
}

// end prints the result of an act, and waits so that people can read it.
func (s *stage) end(ctx context.Context, format string, args ...any) error {
	v := &s.view
	lines := wrap(fmt.Sprintf(format, args...), "        ", min(v.columns(), 100))
	if v.screen.Terminal {
		lines = append([]string{"", v.bold(fit(s.title, v.columns()))}, lines...)
	}
	v.say(lines...)
	return s.holdOn(ctx)
}

// theUpstreamFails runs all jobs against an upstream with faults.
func (s *stage) theUpstreamFails(ctx context.Context) error {
	s.begin("1 of 3  The upstream is flaky. What is worth another attempt, and when?")
	if _, err := s.await(ctx, firstLimit, func() bool { return s.ledger.live() == 0 }); err != nil {
		return err
	}
	f := s.figures()
	met, calls := s.upstream.tally()
	bad := 0
	for _, n := range met {
		bad += n
	}
	return s.end(ctx, "%d of %d calls failed. %d jobs completed at once and %d after retries; %d are dead, by only %d causes.",
		bad, calls, f.atOnce, f.afterRetries, s.ledger.total()[job.Dead], len(s.groups))
}

// theCauseIsStillThere retries the dead jobs too early. This costs only a few attempts,
// because the redrive stops.
func (s *stage) theCauseIsStillThere(ctx context.Context) error {
	g := s.revoked()
	if g == nil {
		return nil // no error is returned, because check reports later that the group is missing
	}
	s.begin(fmt.Sprintf("2 of 3  %d ocr jobs died by 401: the key was revoked. They are retried too early.", g.Pending))
	r, err := s.redrive(ctx, g, "the failure may have been temporary")
	if err != nil {
		return err
	}
	return s.end(ctx, "Redrive %d has stopped by itself: %s. The other %d jobs were not touched.", r.ID, r.Why, r.Total-r.Released)
}

// theCauseIsMended retries the same jobs after the cause was repaired, so that they can
// succeed.
func (s *stage) theCauseIsMended(ctx context.Context) error {
	g := s.revoked()
	if g == nil {
		return nil
	}
	s.upstream.mend(revokedTenant, newKey)
	s.services.setKey(revokedTenant, newKey)
	s.begin("3 of 3  The key is replaced. A few of the jobs go first, then more and more.")
	r, err := s.redrive(ctx, g, "the key of tenant south is replaced")
	if err != nil {
		return err
	}
	return s.end(ctx, "Redrive %d: %d of %d jobs completed. Their dead letters are resolved, their history is kept.", r.ID, r.Completed, r.Total)
}

// revoked returns the group of the jobs whose key was revoked, or nil.
func (s *stage) revoked() *store.Group {
	for i := range s.groups {
		if g := &s.groups[i]; g.Kind == kindOCR && g.Class == "AuthenticationFailure" && g.Pending > 0 {
			return g
		}
	}
	return nil
}

// redrive starts a bulk retry of a group and shows its progress until it has ended.
func (s *stage) redrive(ctx context.Context, g *store.Group, why string) (store.Redrive, error) {
	client := s.systems[0].client // any client can start the redrive, because it is carried out by the store
	r, err := client.Redrive(ctx, redrive.By{Actor: "demo", Reason: why}, store.RedriveSpec{
		Filter: store.DeadFilter{Group: g.Fingerprint}, Canary: canary, Rate: s.rate,
	})
	if err != nil {
		return r, fmt.Errorf("start a redrive: %w", err)
	}
	_, err = s.await(ctx, redriveLimit, func() bool {
		return len(s.redrives) > 0 && s.redrives[0].ID == r.ID && s.redrives[0].EndedAt != 0 && s.ledger.live() == 0
	})
	if err != nil {
		return r, err
	}
	return client.GetRedrive(ctx, r.ID)
}

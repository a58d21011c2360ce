package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// figures holds the numbers of jobs by the way in which they ended.
type figures struct {
	atOnce, afterRetries, broughtBack, dead int
	// retried is the number of jobs that were retried automatically before they died or
	// completed for the first time; saved is the number of these jobs that completed then.
	retried, saved int
}

func (s *stage) figures() (f figures) {
	for _, a := range s.ledger.jobs {
		first := a.outcomes[0]
		switch {
		case a.state == job.Dead:
			f.dead++
		case a.state != job.Completed:
		case len(a.outcomes) > 1:
			f.broughtBack++
		case first.retries > 0:
			f.afterRetries++
		default:
			f.atOnce++
		}
		if first.retries > 0 {
			f.retried++
			if first.completed {
				f.saved++
			}
		}
	}
	return f
}

// summary prints the results and some commands for looking at them.
func (s *stage) summary(ctx context.Context) error {
	v := &s.view
	v.draw(nil)
	f := s.figures()
	share := 0
	if f.retried > 0 {
		share = 100 * f.saved / f.retried
	}
	v.say("", v.bold(fmt.Sprintf("%d jobs in %s, none lost", len(s.jobs), seconds(s.elapsed()))), "",
		fmt.Sprintf("  %5d  completed at once", f.atOnce),
		fmt.Sprintf("  %5d  completed after retries: of %d jobs that were retried, %d %% succeeded", f.afterRetries, f.retried, share),
		fmt.Sprintf("  %5d  were dead, and completed after their cause was repaired", f.broughtBack),
		fmt.Sprintf("  %5d  are dead, by these causes:", f.dead), "")
	v.say(s.deadByCause()...)
	v.say("", v.bold("Look further")+": nothing runs any more, and all data is in "+s.Path, "")
	v.say(s.suggestions(ctx)...)
	v.say("", v.bold("In a browser")+": run this, then open the address that it prints", "", "  "+s.command("serve"))
	return ctx.Err()
}

// deadByCause returns one line for each group with pending dead letters, the largest group
// first.
func (s *stage) deadByCause() (lines []string) {
	pending := s.pendingGroups()
	for i := range pending {
		lines = append(lines, s.view.causeLine(&pending[i]))
	}
	return lines
}

// suggestion is a command and a description of what it shows.
type suggestion struct{ words, shows string }

// suggestions returns lines with commands that can be used with the file of the demo.
func (s *stage) suggestions(ctx context.Context) (lines []string) {
	all := []suggestion{{"dlq groups --pending --largest", "dead letters by cause"}}
	explain := func(shows string, fits func(*account) bool) {
		if a := s.ledger.pick(fits); a != nil {
			all = append(all, suggestion{fmt.Sprintf("explain %d", a.id), shows})
		}
	}
	explain("the Retry-After of the service, and the time of the retry", func(a *account) bool {
		return a.state == job.Completed && slices.Contains(a.classes, "RateLimitExceeded")
	})
	explain("why it was retried, the formula of the wait, and the other candidate classes", func(a *account) bool {
		return a.state == job.Completed && len(a.outcomes) == 1 && a.retries > 1
	})
	explain("why it died at its first failure", func(a *account) bool {
		return a.state == job.Dead && a.retries == 0 && a.kind == kindWatermark
	})
	explain("a job that was dead and then completed", func(a *account) bool {
		return a.state == job.Completed && len(a.outcomes) > 1
	})
	if len(s.redrives) > 0 {
		all = append(all, suggestion{fmt.Sprintf("dlq redrive show %d", s.redrives[len(s.redrives)-1].ID), "the redrive that stopped by itself"})
	}
	all = append(all, suggestion{"jobs list --state dead --kind " + kindChat, "the dead jobs of a kind"})
	if hash := s.policyOf(ctx); hash != "" {
		all = append(all, suggestion{"policy show " + hash, "the policy that decided, as a policy file"})
	}
	all = append(all, suggestion{"dlq stats", "success rate of the retries"}, suggestion{"audit --action redrive.start", "who started each redrive, and why"})
	longest, widest := 0, 0
	for _, each := range all {
		longest, widest = max(longest, len(s.command(each.words))), max(widest, len(each.shows))
	}
	beside := "  " + strings.Repeat(" ", longest) + "  # "
	for _, each := range all {
		command := s.command(each.words)
		if s.view.screen.Terminal && len(beside)+widest > s.view.columns() { // what the command shows gets a line of its own, above the command
			lines = append(lines, "  "+s.view.faint("# "+each.shows), "  "+command)
			continue
		}
		lines = append(lines, "  "+command+strings.Repeat(" ", longest-len(command)+2)+s.view.faint("# "+each.shows))
	}
	return lines
}

// policyOf returns the short hash of the policy of the first kind, or "" if the store does
// not have this policy.
func (s *stage) policyOf(ctx context.Context) string {
	p, err := s.store.Policy(ctx, s.systems[0].policy.Hash())
	if err != nil {
		return ""
	}
	return shortHash(p)
}

func shortHash(p store.StoredPolicy) string { return p.Hash[:min(len(p.Hash), 12)] }

package selfbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// deadLists returns the reads of dead letters and their groups.
func (r *reader) deadLists() []read {
	var reads []read
	list := func(name string, filter func(i int) store.DeadFilter) {
		reads = append(reads, read{"list of dead letters " + name, readMax, func(ctx context.Context, i int) error {
			_, err := r.DeadLetters(ctx, filter(i), store.DeadPaging{})
			return err
		}})
	}
	tally := func(name string, filter func(i int) store.DeadFilter) {
		reads = append(reads, read{"tally of dead letters " + name, readMax, func(ctx context.Context, i int) error {
			_, err := r.TallyDead(ctx, filter(i))
			return err
		}})
	}
	groups := func(name string, filter func(i int) store.GroupFilter) {
		reads = append(reads, read{"list of groups " + name, groupListMax, func(ctx context.Context, i int) error {
			_, err := r.Groups(ctx, filter(i))
			return err
		}})
	}
	owner := func(i int) string { return r.shape.Owner(pick(i, r.shape.Owners)) }
	kind := func(i int) string { return r.shape.Kind(pick(i, r.shape.Kinds)) }
	group := func(i int) (string, string) { return r.shape.Group(pick(i, r.shape.Groups)) }
	list("without a filter", func(int) store.DeadFilter { return store.DeadFilter{} })
	list("by status", func(i int) store.DeadFilter {
		return store.DeadFilter{Statuses: []job.Status{job.Statuses[i%len(job.Statuses)]}}
	})
	list("by kind", func(i int) store.DeadFilter { return store.DeadFilter{Kind: kind(i)} })
	list("by queue", func(i int) store.DeadFilter { return store.DeadFilter{Queue: r.shape.Queue(pick(i, r.shape.Kinds))} })
	list("by owner", func(i int) store.DeadFilter { return store.DeadFilter{Owner: owner(i)} })
	list("by class and kind", func(i int) store.DeadFilter {
		_, class := group(i)
		return store.DeadFilter{Class: class, Kind: kind(i)}
	})
	list("by group", func(i int) store.DeadFilter { g, _ := group(i); return store.DeadFilter{Group: g} })
	list("by group, pending", func(i int) store.DeadFilter {
		g, _ := group(i)
		return store.DeadFilter{Group: g, Statuses: []job.Status{job.Pending}}
	})
	list("by 20 groups", func(i int) store.DeadFilter {
		var f store.DeadFilter
		for k := range min(20, r.shape.Groups) {
			g, _ := r.shape.Group((i + k) % r.shape.Groups)
			f.Groups = append(f.Groups, g)
		}
		return f
	})
	list("by time", func(i int) store.DeadFilter { return store.DeadFilter{Until: r.before(i)} })
	list("by correlation", func(i int) store.DeadFilter {
		return store.DeadFilter{Correlation: r.shape.Correlation(job.ID(1 + pick(i, r.shape.Jobs()/20)*20))}
	})
	list("by reason", func(int) store.DeadFilter { return store.DeadFilter{Reason: job.Stalled} })
	list("by text", func(i int) store.DeadFilter {
		return store.DeadFilter{Text: fmt.Sprintf("cause %d)", pick(i, r.shape.Groups))}
	})
	list("by attribute", func(i int) store.DeadFilter {
		return store.DeadFilter{Attr: store.Attr{Name: "customer", Value: fmt.Sprint("c-", i)}}
	})
	tally("without a filter", func(int) store.DeadFilter { return store.DeadFilter{} })
	tally("by owner", func(i int) store.DeadFilter { return store.DeadFilter{Owner: owner(i)} })
	tally("by group", func(i int) store.DeadFilter { g, _ := group(i); return store.DeadFilter{Group: g} })
	tally("by text", func(i int) store.DeadFilter { return store.DeadFilter{Text: fmt.Sprint("renditions/", r.id(i), "/")} })
	groups("pending", func(int) store.GroupFilter { return store.GroupFilter{Pending: true} })
	groups("pending, largest first", func(int) store.GroupFilter { return store.GroupFilter{Pending: true, Largest: true} })
	groups("by kind", func(i int) store.GroupFilter { return store.GroupFilter{Kind: kind(i)} })
	groups("by class", func(i int) store.GroupFilter { _, class := group(i); return store.GroupFilter{Class: class} })
	groups("by assignee", func(int) store.GroupFilter { return store.GroupFilter{Assignee: "ann"} })
	groups("of a set", func(i int) store.GroupFilter { return store.GroupFilter{Set: fmt.Sprint("set-", i%10)} })
	groups("on page 100", func(int) store.GroupFilter { return store.GroupFilter{Skip: min(5_000, r.shape.Groups/2)} })
	groups("of one group", func(i int) store.GroupFilter { g, _ := group(i); return store.GroupFilter{Group: g} })
	return append(reads,
		read{"statistics of dead letters", readMax, func(ctx context.Context, _ int) error { _, err := r.DeadStats(ctx); return err }},
		read{"preview of a retry of all dead letters", readMax, func(ctx context.Context, _ int) error {
			_, err := r.Preview(ctx, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}})
			return err
		}},
	)
}

// counts returns the reads of counters, figures, people and processes.
func (r *reader) counts() []read {
	var reads []read
	add := func(name string, do func(ctx context.Context, i int) error) {
		reads = append(reads, read{name, readMax, do})
	}
	series := func(name string, q store.SeriesQuery) {
		add("figures "+name, func(ctx context.Context, _ int) error {
			points, err := r.Series(ctx, q)
			if err == nil && len(points) == 0 {
				return errors.New("the series has no points")
			}
			return err
		})
	}
	audit := func(name string, filter func(i int) store.AuditFilter) {
		add("audit log "+name, func(ctx context.Context, i int) error { _, err := r.Audit(ctx, filter(i)); return err })
	}
	add("numbers of jobs", func(ctx context.Context, _ int) error { _, err := r.Counts(ctx); return err })
	add("queues", func(ctx context.Context, _ int) error { _, err := r.Queues(ctx); return err })
	add("backlog", func(ctx context.Context, _ int) error { _, err := r.Backlog(ctx); return err })
	add("first due jobs of all queues", func(ctx context.Context, _ int) error { _, err := r.Heads(ctx); return err })
	add("retries of the next two hours", func(ctx context.Context, _ int) error { _, err := r.Due(ctx, store.DueMinutesMax); return err })
	series("of the last hour by minute", store.SeriesQuery{Since: r.now.Add(-2 * time.Hour), Until: r.now})
	series("of a day by minute", store.SeriesQuery{Since: r.now.Add(-24 * time.Hour), Until: r.now})
	series("of a day by hour", store.SeriesQuery{Since: r.now.Add(-24 * time.Hour), Until: r.now, Step: time.Hour})
	series("of a day by hour and queue", store.SeriesQuery{Since: r.now.Add(-24 * time.Hour), Until: r.now, Step: time.Hour, By: store.ByQueue})
	series("of a day by hour and class", store.SeriesQuery{Since: r.now.Add(-24 * time.Hour), Until: r.now, Step: time.Hour, By: store.ByClass})
	series("of a day by minute, of one kind", store.SeriesQuery{Since: r.now.Add(-24 * time.Hour), Until: r.now, Kind: r.shape.Kind(0)})
	audit("without a filter", func(int) store.AuditFilter { return store.AuditFilter{} })
	audit("by actor", func(int) store.AuditFilter { return store.AuditFilter{Actor: "ann"} })
	audit("by action", func(int) store.AuditFilter { return store.AuditFilter{Actions: []string{"queue."}} })
	audit("by target", func(i int) store.AuditFilter { return store.AuditFilter{Target: r.shape.Queue(pick(i, r.shape.Kinds))} })
	audit("by an action without rows", func(int) store.AuditFilter { return store.AuditFilter{Actions: []string{"policy.publish"}} })
	add("processes", func(ctx context.Context, _ int) error { _, err := r.Processes(ctx); return err })
	add("redrives", func(ctx context.Context, _ int) error { _, err := r.Redrives(ctx); return err })
	add("notes", func(ctx context.Context, _ int) error { _, err := r.Notes(ctx, store.NoteFilter{}); return err })
	add("notes of a job", func(ctx context.Context, i int) error {
		_, err := r.Notes(ctx, store.NoteFilter{Job: r.id(i)})
		return err
	})
	add("ends of the events", func(ctx context.Context, _ int) error { _, _, err := r.EventSpan(ctx); return err })
	return reads
}

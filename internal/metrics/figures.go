package metrics

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// readTime is how long the store has to answer a scrape.
const readTime = 5 * time.Second

// Names are labels, so their number is bounded: the figures of those beyond have the name other.
const (
	QueuesMax  = 200
	ClassesMax = 200
	other      = "other"
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("redrive_"+name, help, labels, nil)
}

var (
	storeUp   = desc("store_up", "1 if the store has answered this scrape.")
	jobs      = desc("jobs", "Jobs in the store by queue and state.", "queue", "state")
	pending   = desc("dead_letters", "Dead letters that nobody has dealt with.")
	oldestDue = desc("oldest_due_seconds", "Age of the oldest job that is due, by queue. 0 if none is due.", "queue")
	processes = desc("processes", "Processes that run jobs, by state: alive, or silent for a minute.", "state")
	slots     = desc("process_slots", "Jobs that the living processes can run at a time.")
	running   = desc("process_running", "Jobs that the living processes run.")

	enqueued  = desc("jobs_enqueued_total", "Jobs enqueued since this server has started, by any process.")
	completed = desc("jobs_completed_total", "Jobs completed since this server has started, by any process.")
	cancelled = desc("jobs_cancelled_total", "Jobs cancelled since this server has started, by any process.")
	dead      = desc("jobs_dead_total", "Jobs that have died since this server has started, in any process.")
	crashed   = desc("runs_crashed_total", "Runs whose lease has ended without an outcome since this server has started.")
	retried   = desc("retries_total", "Attempts after the first one of a job since this server has started, by any process.")
	failed    = desc("failures_total", "Failed attempts since this server has started, by class, and by whether the job has died of it.", "class", "permanent")
)

// figures collects the figures of a store.
type figures struct {
	source Source
	log    *slog.Logger
	clock  func() time.Time
	all    sums // of everything
	byName sums // by class
}

func newFigures(source Source, o *Options) *figures {
	started := job.At(o.Now())
	return &figures{source: source, log: o.Logger, clock: o.Now, all: sums{since: started, now: o.Now}, byName: sums{since: started, now: o.Now, by: redrive.ByClass}}
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{storeUp, jobs, pending, oldestDue, processes, slots, running, enqueued, completed, cancelled, dead, crashed, retried, failed,
		streamLag, streamAge, streamParts, streamRecords, sinkFailing} {
		out <- d
	}
}

// Collect implements prometheus.Collector. While the store cannot be reached, only redrive_store_up is reported.
func (f *figures) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	up := 1.0
	list, err := f.read(ctx)
	if err != nil {
		f.log.WarnContext(ctx, "the metrics of the store cannot be read", "error", err)
		up, list = 0, nil
	}
	out <- prometheus.MustNewConstMetric(storeUp, prometheus.GaugeValue, up)
	for _, m := range list {
		out <- m
	}
}

func (f *figures) read(ctx context.Context) (list []prometheus.Metric, err error) {
	add := func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		list = append(list, prometheus.MustNewConstMetric(d, t, v, labels...))
	}
	if err := f.now(ctx, func(d *prometheus.Desc, v float64, labels ...string) { add(d, prometheus.GaugeValue, v, labels...) }); err != nil {
		return nil, err
	}
	if err := f.streams(ctx, add); err != nil {
		return nil, err
	}
	all, err := f.all.read(ctx, f.source)
	if err != nil {
		return nil, err
	}
	classes, err := f.byName.read(ctx, f.source)
	if err != nil {
		return nil, err
	}
	total := all[""]
	for _, c := range []struct {
		d *prometheus.Desc
		n int64
	}{{enqueued, total.Enqueued}, {completed, total.Completed}, {cancelled, total.Cancelled}, {dead, total.Dead}, {crashed, total.Crashed}, {retried, total.Retries}} {
		add(c.d, prometheus.CounterValue, float64(c.n))
	}
	for class, n := range classes {
		add(failed, prometheus.CounterValue, float64(max(n.Failed-n.Dead, 0)), class, "false")
		add(failed, prometheus.CounterValue, float64(n.Dead), class, "true")
	}
	return list, nil
}

// now reports what the store has at the moment.
func (f *figures) now(ctx context.Context, add func(d *prometheus.Desc, v float64, labels ...string)) error {
	counts, err := f.source.Counts(ctx)
	if err != nil {
		return err
	}
	stats, err := f.source.DeadStats(ctx)
	if err != nil {
		return err
	}
	heads, err := f.source.Heads(ctx)
	if err != nil {
		return err
	}
	all, err := f.source.Processes(ctx)
	if err != nil {
		return err
	}
	queues := names{most: QueuesMax}
	byState := make(map[string]map[job.State]int64)
	for _, n := range counts {
		name := queues.of(n.Queue)
		if byState[name] == nil {
			byState[name] = make(map[job.State]int64)
		}
		byState[name][n.State] += n.N
	}
	oldest := make(map[string]float64)
	for _, h := range heads {
		name := queues.of(h.Queue)
		age := 0.0
		if h.Due != 0 {
			age = max(stats.At.Sub(h.Due), 0).Seconds()
		}
		oldest[name] = max(oldest[name], age)
	}
	for name, n := range byState {
		for _, state := range job.States {
			add(jobs, float64(n[state]), name, state.String())
		}
		add(oldestDue, oldest[name], name)
	}
	waits := int64(0)
	for _, n := range stats.Counts {
		if n.Status == job.Pending {
			waits += n.N
		}
	}
	add(pending, float64(waits))
	alive, silent, room, busy := 0, 0, 0, 0
	for i := range all {
		if all[i].Silent {
			silent++
			continue
		}
		alive, room, busy = alive+1, room+all[i].Slots, busy+all[i].Running
	}
	add(processes, float64(alive), "alive")
	add(processes, float64(silent), "silent")
	add(slots, float64(room))
	add(running, float64(busy))
	return nil
}

// names bounds the number of different labels.
type names struct {
	most int
	seen map[string]bool
}

func (n *names) of(name string) string {
	if n.seen[name] {
		return name
	}
	if len(n.seen) >= n.most {
		return other
	}
	if n.seen == nil {
		n.seen = make(map[string]bool)
	}
	n.seen[name] = true
	return name
}

package words

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// healthy returns findings without anything to warn about.
func healthy(now job.Micros) store.Findings {
	return store.Findings{
		Due:       []store.DueLane{due("mail", "a", now.Add(-5*time.Minute+time.Microsecond))},
		Processes: []store.Process{{Name: "w", Queues: []string{"default", "mail"}, Kinds: []string{"a", "b"}}},
		Space:     &store.Space{Free: 1 << 30, Total: 10 << 30},
		Classes:   []store.PendingClass{{Class: "NotFound", Groups: 2, Pending: 9}},
		Deaths:    deaths(9, now),
		// The retention of the tests is a day for ended jobs and a week for events.
		OldestEnded: now.Add(-24*time.Hour - 2*time.Minute), OldestEvent: now.Add(-7*24*time.Hour - 2*time.Minute),
		CounterLag: time.Minute, ClockAhead: -2 * time.Second,
	}
}

func due(queue, kind string, at job.Micros) store.DueLane {
	return store.DueLane{DueJob: store.DueJob{ID: 7, Queue: queue, Kind: kind, RunAt: at}}
}

func deaths(n int, now job.Micros) (list []job.Micros) {
	for range n {
		list = append(list, now.Add(-10*time.Minute+time.Microsecond))
	}
	return append(list, now.Add(-10*time.Minute), now.Add(-time.Hour))
}

// Each finding is tested with a value at its limit, which gives no warning, and with a value
// just beyond the limit.
func TestWarnings(t *testing.T) {
	t.Parallel()
	now := job.At(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC))
	limits := DefaultLimits()
	limits.Keep = store.Retention{Completed: 24 * time.Hour, Events: 7 * 24 * time.Hour}
	ago := func(d time.Duration) job.Micros { return now.Add(-d) }
	for name, tt := range map[string]struct {
		change func(*store.Findings)
		want   string // one line for each warning: the name of the check and the beginning of the text
	}{
		"nothing":            {func(*store.Findings) {}, ""},
		"nothing was found":  {func(f *store.Findings) { *f = store.Findings{} }, ""},
		"nobody has the job": {func(f *store.Findings) { f.Due = append(f.Due, due("mail", "c", ago(time.Minute))) }, "workers: jobs of kind c in queue mail have been due for 1m, and no running worker has this kind and queue: start one"},
		"nobody has it yet":  {func(f *store.Findings) { f.Due = append(f.Due, due("mail", "c", ago(time.Minute-1000))) }, ""},
		"another queue":      {func(f *store.Findings) { f.Due = append(f.Due, due("late", "a", ago(time.Hour))) }, "workers: jobs of kind a in queue late have been due for 1h, and no"},
		"the queue is paused": {func(f *store.Findings) {
			d := due("late", "a", ago(time.Hour))
			d.Paused = true
			f.Due = append(f.Due, d)
		}, ""},
		"the worker is silent": {func(f *store.Findings) {
			f.Processes[0].Silent = true
			f.CounterLag = time.Hour // no running process could bring the counters up to date
		}, "workers: jobs of kind a in queue mail have been due for 5m, and no running worker"},
		"the worker is quiet": {func(f *store.Findings) { f.Processes[0].Quiet = true }, "workers: jobs of kind a in queue mail have been due for 5m, and each worker that runs them is quiet: wake one with"},
		"one of two is quiet": {func(f *store.Findings) {
			f.Processes = append(f.Processes, f.Processes[0])
			f.Processes[0].Quiet = true
		}, ""},
		"the program is missing everywhere": {func(f *store.Findings) {
			f.Processes[0].Sick = []store.Sickness{{Kind: "a", Cause: "no ffmpeg"}}
		}, "workers: jobs of kind a in queue mail are due and stand still, because each running worker that has this kind cannot start its program; the error of one worker: no ffmpeg"},
		"the program is missing on one of two": {func(f *store.Findings) {
			f.Processes = append(f.Processes, f.Processes[0])
			f.Processes[0].Sick = []store.Sickness{{Cause: "too many open files"}}
		}, ""},
		"another kind is sick": {func(f *store.Findings) {
			f.Processes[0].Sick = []store.Sickness{{Kind: "c", Cause: "no ffmpeg"}}
		}, ""},
		"many kinds": {func(f *store.Findings) {
			f.Due = nil
			for i := range lanesShown + 2 {
				f.Due = append(f.Due, due("late", fmt.Sprint("k", i), ago(time.Hour)))
			}
		}, strings.Repeat("workers: jobs of kind k\n", lanesShown) + "workers: no worker claims the due jobs of 2 more pairs of a kind and a queue"},
		"late": {func(f *store.Findings) {
			f.Due = []store.DueLane{due("mail", "a", ago(5*time.Minute)), due("mail", "b", ago(5*time.Minute))}
		}, "oldest-due: job 7 (kind a, queue mail) has been due for 5m; more than 5m is late"},
		"little space":       {func(f *store.Findings) { f.Space.Free-- }, "free-space: 1024.0 MiB are free on the file system of the database, 10 %; less than 1.0 GiB or 10 % is too little"},
		"a small share":      {func(f *store.Findings) { f.Space.Total++ }, "free-space: 1.0 GiB are free on the file system of the database, 10 %"},
		"jobs are kept":      {func(f *store.Findings) { f.OldestEnded-- }, "retention: the oldest ended job should have been removed 2m ago (it is kept for 24h)"},
		"events are kept":    {func(f *store.Findings) { f.OldestEvent-- }, "retention: the oldest event should have been removed 2m ago (it is kept for 7 days)"},
		"counters lag":       {func(f *store.Findings) { f.CounterLag++ }, "counters: the table of counters does not contain the commits of the last 1m"},
		"jobs die":           {func(f *store.Findings) { f.Deaths = deaths(10, now) }, "dead-letters: 10 jobs died in the last 10m; 10 or more are too many"},
		"many jobs die":      {func(f *store.Findings) { f.Deaths = deaths(store.DeathsMax, now)[:store.DeathsMax] }, "dead-letters: at least 1,000 jobs died in the last 10m"},
		"the clock is ahead": {func(f *store.Findings) { f.ClockAhead = 2*time.Second + 1 }, "clocks: the clock of the database is 2s ahead of the clock of this machine; more than 2s is too much"},
		"the clock lags":     {func(f *store.Findings) { f.ClockAhead = -3 * time.Second }, "clocks: the clock of the database is 3s behind the clock of this machine"},
		"nobody is named": {func(f *store.Findings) {
			f.Classes = append(f.Classes, store.PendingClass{Class: "UnknownError", Groups: 2, Pending: 7, Unassigned: 1, UnassignedPending: 3})
		}, "no-owner: the cause of 3 pending dead letters in 1 group is not classified, and nobody is assigned to it"},
	} {
		f := healthy(now)
		tt.change(&f)
		got := Warnings(&f, &limits, now)
		var want []string
		if tt.want != "" {
			want = strings.Split(tt.want, "\n")
		}
		same := len(got) == len(want)
		for i := 0; same && i < len(got); i++ {
			same = strings.HasPrefix(got[i].Check+": "+got[i].Text, want[i])
		}
		if !same {
			t.Errorf("%s: got the warnings %q, want %q", name, got, want)
		}
	}
}

// A limit of 0 deaths and a retention of 0 are not checked.
func TestWarnings_WhatIsNotChecked(t *testing.T) {
	t.Parallel()
	now := job.At(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC))
	limits := DefaultLimits()
	limits.Deaths = 0
	f := healthy(now)
	f.Deaths, f.OldestEnded, f.OldestEvent = deaths(store.DeathsMax, now), 1, 1
	if got := Warnings(&f, &limits, now); len(got) != 0 {
		t.Errorf("got the warnings %q, want none", got)
	}
}

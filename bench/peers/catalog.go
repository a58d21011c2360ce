package main

import "slices"

// workload is one kind of measurement.
type workload struct {
	name    string
	title   string
	about   string
	mode    mode
	procs   int
	failing int // the percentage of the jobs that fail
}

type mode string

const (
	enqueueMode  mode = "enqueue"
	bulkMode     mode = "bulk"
	processMode  mode = "process"
	bothMode     mode = "both"
	bothBulkMode mode = "both-bulk"
	pickupMode   mode = "pickup"
	killMode     mode = "kill"
)

// stores reports whether the workload only stores jobs and runs none.
func (m mode) stores() bool { return m == enqueueMode || m == bulkMode }

// workloads returns all workloads in the order of the page.
func workloads() []workload {
	return []workload{
		{"both", "Enqueue and process at once", "One process enqueues jobs one by one from 100 callers, and runs them. Each caller waits for " +
			"its own commit. Measured from the first enqueue until the store has no unfinished job.", bothMode, 1, 0},
		{"both-bulk", "Enqueue in batches and process at once", "The same, but one caller enqueues 1,000 jobs per call.", bothBulkMode, 1, 0},
		{"process", "Process alone", "The jobs are already stored. Measured from the start of the workers until the store has no " +
			"unfinished job.", processMode, 1, 0},
		{"enqueue", "Enqueue alone", "No worker runs. Measured until the last job is committed.", enqueueMode, 1, 0},
		{"bulk", "Enqueue alone, in batches", "One caller enqueues 1,000 jobs per call. No worker runs.", bulkMode, 1, 0},
		{"fail-1", "Process alone, 1 % failing", failing, processMode, 1, 1},
		{"fail-20", "Process alone, 20 % failing", failing, processMode, 1, 20},
		{"fail-100", "Process alone, all failing", failing, processMode, 1, 100},
		{"process-4", "Process alone, 4 processes", "As in \"Process alone\", but in four processes, each with all its workers and connections.", processMode, 4, 0},
		{"both-4", "Enqueue and process at once, 4 processes", "As in \"Enqueue and process at once\", but in four processes, " +
			"each of which enqueues a quarter of the jobs.", bothMode, 4, 0},
		{"pickup", "Idle pickup", "One process enqueues a single job from time to time; another process is idle and runs it. Measured from the " +
			"acknowledgement of the enqueue to the start of the handler, in milliseconds.", pickupMode, 2, 0},
		{"kill", "Killed", "During the first workload all processes and the server are killed with SIGKILL. Then the server is started again, " +
			"and its contents are compared with the acknowledgements that callers had received.", killMode, 1, 0},
	}
}

// failing describes the three workloads with failing jobs.
const failing = "Each job has one attempt. A failing job has an error text of about 200 bytes and is dead at once. " +
	"With retries this test would measure the timers of the systems instead of the cost of a failure: asynq looks for retries every 5 s, " +
	"and the waits of Graphile Worker are fixed at e^n seconds."

func workloadNames() (names []string) {
	for _, w := range workloads() {
		names = append(names, w.name)
	}
	return names
}

// server is the server that a system needs.
type server string

const (
	noServer      server = ""
	postgres      server = "PostgreSQL"
	redisEverySec server = "Redis, appendfsync everysec"
	redisAlways   server = "Redis, appendfsync always"
)

// The ways of starting an agent.
const (
	inGo      = "go"
	inRiverPG = "riverpg"
	inNode    = "node"
)

// system is one row of the tables.
type system struct {
	name    string
	setting string
	label   string
	server  server
	runs    string // the way in which the agent is started
	tuned   bool
	workers int
	share   float64 // the number of jobs as a share of the configured number; slow systems get fewer jobs
	ones    float64 // the share in workloads that enqueue jobs one by one; 0 means the same share as in other workloads
	floor   bool
	history bool     // whether the system keeps a row of each succeeded job
	one     bool     // whether the system supports only one process: its documents say so, or it is not a real job system but a floor
	only    []string // the workloads that are measured for this system; nil means all

	differs string // a text about the difference between the system's settings and its defaults
	keeps   string // a text about the guarantees for the stored data
}

// jobs returns the number of jobs of a run, given the number for a fast system.
func (s system) jobs(m mode, of int) int {
	share := s.share
	if s.ones > 0 && (m == enqueueMode || m == bothMode) {
		share = s.ones
	}
	return max(jobsMin, int(float64(of)*share))
}

func (s system) key() string { return s.name + " " + s.setting }

func (s system) ours() bool { return s.name == "redrive-sqlite" || s.name == "redrive-postgres" }

func (s system) does(w workload) bool {
	switch {
	case s.only != nil:
		return slices.Contains(s.only, w.name)
	case s.floor:
		return w.procs == 1 && w.failing == 0 && (w.mode == enqueueMode || w.mode == processMode || w.mode == bothMode)
	case s.one:
		return w.procs == 1
	}
	return true
}

const (
	flushed      = "each commit is flushed"
	flushedPG    = "each commit is flushed by the server (fsync, synchronous_commit on)"
	flushedRedis = "each write is flushed before its answer"
	everySecond  = "flushed once a second: a power cut loses 1 to 2 s of enqueues and completions"
)

// catalog lists all systems in the order of the tables.
func catalog() []system {
	const defaults, best = "defaults", "best"
	return []system{
		{
			name: "redrive-sqlite", setting: defaults, label: "redrive on SQLite", runs: inGo, workers: 100, share: 1, history: true,
			differs: "100 workers", keeps: flushed + "; history for a day, failures, dead letters and events",
		},
		{
			name: "redrive-postgres", setting: defaults, label: "redrive on PostgreSQL", server: postgres, runs: inGo, workers: 100, share: 1,
			history: true, differs: "100 workers", keeps: flushedPG + "; history for a day, failures, dead letters and events",
		},
		{
			name: "redrive-postgres", setting: best, label: "redrive on PostgreSQL", server: postgres, runs: inGo, tuned: true, workers: 1000,
			share: 1, history: true, differs: "1,000 workers", keeps: "the same",
		},
		{
			name: "floor-sqlite", setting: "", label: "bare statements on SQLite", runs: inGo, workers: 100, share: 1, floor: true,
			differs: "not a job system: the statements and rows of redrive, without a handler", keeps: flushed,
		},
		{
			name: "floor-postgres", setting: "", label: "bare statements on PostgreSQL", server: postgres, runs: inGo, workers: 1000, share: 1,
			floor: true, keeps: flushedPG,
			differs: "not a job system: batched statements with the rows of redrive on 2 + 1 + 2 connections, 1,000 workers, without a handler",
		},
		{
			name: "river-postgres", setting: defaults, label: "River on PostgreSQL", server: postgres, runs: inRiverPG, workers: 100, share: 0.06,
			history: true, differs: "100 workers", keeps: flushedPG + "; completions are kept in memory until a batch is full; history for a day",
		},
		{
			name: "river-postgres", setting: best, label: "River on PostgreSQL", server: postgres, runs: inRiverPG, tuned: true, workers: 2000,
			share: 0.5, ones: 0.2, history: true, differs: "2,000 workers, 20 connections, fetches every 2 ms and polls every 20 ms, as in its own benchmark",
			keeps: "the same",
		},
		{
			name: "graphile-worker", setting: best, label: "Graphile Worker on PostgreSQL", server: postgres, runs: inNode, tuned: true, workers: 24,
			share: 0.3, ones: 0.06, differs: "24 workers, 25 connections, local queue of 500, completions batched", keeps: flushedPG + "; no history",
		},
		{
			name: "river-sqlite", setting: defaults, label: "River on SQLite", runs: inGo, workers: 100, share: 0.03, history: true, one: true,
			differs: "100 workers", keeps: flushed + "; history for a day",
		},
		{
			name: "river-sqlite", setting: best, label: "River on SQLite", runs: inGo, tuned: true, workers: 100, share: 0.1, ones: 0.06, history: true, one: true,
			differs: "fetches every 2 ms and polls every 20 ms, as in its own benchmark; 64 MiB cache", keeps: "the same",
		},
		{
			name: "backlite", setting: best, label: "backlite on SQLite", runs: inGo, tuned: true, workers: 100, share: 0.02, history: true, one: true,
			differs: "100 workers, one connection, 64 MiB cache", keeps: flushed + "; history for 6 h",
		},
		{
			name: "asynq", setting: "everysec", label: "asynq on Redis", server: redisEverySec, runs: inGo, tuned: true, workers: 100, share: 0.3,
			differs: "100 workers, looks for tasks every 10 ms", keeps: everySecond + "; no history, at most 10,000 dead tasks",
		},
		{
			name: "asynq", setting: "everysec, defaults", label: "asynq on Redis", server: redisEverySec, runs: inGo, workers: 100, share: 0.3,
			only: []string{"pickup"}, differs: "looks for tasks once a second", keeps: "the same",
		},
		{
			name: "asynq", setting: "always", label: "asynq on Redis", server: redisAlways, runs: inGo, tuned: true, workers: 100, share: 0.06,
			differs: "as everysec", keeps: flushedRedis + "; no history, at most 10,000 dead tasks",
		},
		{
			name: "bullmq", setting: "everysec", label: "BullMQ on Redis", server: redisEverySec, runs: inNode, workers: 100, share: 0.3,
			history: true, differs: "100 workers", keeps: everySecond + "; all jobs are kept for ever",
		},
		{
			name: "bullmq", setting: "always", label: "BullMQ on Redis", server: redisAlways, runs: inNode, workers: 100, share: 0.3,
			history: true, differs: "100 workers", keeps: flushedRedis + "; all jobs are kept for ever",
		},
	}
}

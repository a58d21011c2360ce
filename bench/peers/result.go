package main

import (
	"fmt"

	"github.com/redrive/redrive/bench/agent"
)

// result is one run.
type result struct {
	System     string            `json:"system"`
	Setting    string            `json:"setting"`
	Workload   string            `json:"workload"`
	Round      int               `json:"round"`
	Jobs       int               `json:"jobs"`
	Workers    int               `json:"workers"`
	Seconds    float64           `json:"seconds,omitempty"`
	PerSecond  float64           `json:"per_second,omitempty"`
	ClientCPU  float64           `json:"client_cpu_us,omitempty"` // the processor time of all agents for each job, in microseconds
	ServerCPU  float64           `json:"server_cpu_us,omitempty"`
	Twice      int64             `json:"ran_twice,omitempty"`
	Rows       agent.Counts      `json:"rows"` // the numbers of rows in the store after the run
	P50        float64           `json:"p50_ms,omitempty"`
	P99        float64           `json:"p99_ms,omitempty"`
	Samples    int               `json:"samples,omitempty"`
	Kill       *killed           `json:"kill,omitempty"`
	Durability string            `json:"durability,omitempty"`
	Versions   map[string]string `json:"versions,omitempty"`
	Error      string            `json:"error,omitempty"` // the reason why the run has no figure
}

// killed has the counts of acknowledged jobs after a kill.
type killed struct {
	Acked    int `json:"acked"`
	Lost     int `json:"lost"`     // number of jobs that neither ran nor are stored
	Ran      int `json:"ran"`      // number of handler calls that had begun
	Finished int `json:"finished"` // number of jobs stored as finished
	Pending  int `json:"pending"`  // number of jobs stored as still to be run
	Again    int `json:"again"`    // number of pending jobs whose handler had already run
}

func (r result) key() string { return r.System + " " + r.Setting }

// line returns a line about the run, which is printed during the measurement.
func (r result) line() string {
	head := fmt.Sprintf("%d %-10s %-32s", r.Round, r.Workload, r.key())
	switch {
	case r.Error != "":
		return head + " FAILED: " + r.Error
	case r.Kill != nil:
		return fmt.Sprintf("%s %+v", head, *r.Kill)
	case r.Samples > 0:
		return fmt.Sprintf("%s p50 %.2f ms, p99 %.2f ms of %d", head, r.P50, r.P99, r.Samples)
	}
	return fmt.Sprintf("%s %9.0f/s  %6.2f s  cpu %.0f + %.0f us  rows %+v  twice %d",
		head, r.PerSecond, r.Seconds, r.ClientCPU, r.ServerCPU, r.Rows, r.Twice)
}

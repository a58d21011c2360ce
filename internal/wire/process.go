package wire

import (
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store"
)

// Worker is a process that runs jobs.
type Worker struct {
	State string `json:"state"` // the state of the worker: idle, working, sick, quiet or silent
	store.Process
}

// WorkerList is a list of workers.
type WorkerList struct {
	Workers []Worker `json:"workers"`
}

// WorkerOf returns the JSON shape of a worker.
func WorkerOf(p *store.Process) Worker {
	w := Worker{State: words.ProcessState(p), Process: *p}
	w.Queues, w.Kinds = append([]string{}, p.Queues...), append([]string{}, p.Kinds...) // lists without entries become [] and not null in JSON
	return w
}

// WorkersOf returns the JSON shape of a list of workers.
func WorkersOf(list []store.Process) WorkerList {
	out := WorkerList{Workers: []Worker{}}
	for i := range list {
		out.Workers = append(out.Workers, WorkerOf(&list[i]))
	}
	return out
}

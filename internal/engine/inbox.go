package engine

import "sync"

// inbox collects events for the loop. All events that arrive while the loop is busy become
// one batch, which wakes the loop once.
type inbox struct {
	wake chan struct{} // wakes the loop; the channel has capacity one

	mu sync.Mutex
	batch
}

// batch contains the events for one round of the loop.
type batch struct {
	events   []Event
	reported []*Task
	finished []*Task
	returned []*Task
	rang     bool              // whether the timer of the loop has fired
	waiters  []chan<- struct{} // the channels that the loop closes when the engine is idle
}

func (in *inbox) post(e Event) {
	in.mu.Lock()
	in.events = append(in.events, e)
	in.mu.Unlock()
	in.nudge()
}

func (in *inbox) postReported(t *Task) {
	in.mu.Lock()
	in.reported = append(in.reported, t)
	in.mu.Unlock()
	in.nudge()
}

func (in *inbox) postFinished(t *Task) {
	in.mu.Lock()
	in.finished = append(in.finished, t)
	first := len(in.finished) == 1
	in.mu.Unlock()
	if first {
		in.nudge()
	}
}

func (in *inbox) postReturned(t *Task) {
	in.mu.Lock()
	in.returned = append(in.returned, t)
	in.mu.Unlock()
	in.nudge()
}

// ring records that the timer has fired.
func (in *inbox) ring() {
	in.mu.Lock()
	in.rang = true
	in.mu.Unlock()
	in.nudge()
}

func (in *inbox) postWaiter(idle chan<- struct{}) {
	in.mu.Lock()
	in.waiters = append(in.waiters, idle)
	in.mu.Unlock()
	in.nudge()
}

// nudge wakes the loop. Several calls before the loop wakes have the same effect as one.
func (in *inbox) nudge() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// swap takes the collected batch and leaves an empty one.
func (in *inbox) swap(b *batch) {
	b.events = b.events[:0]
	b.reported = emptied(b.reported)
	b.finished = emptied(b.finished)
	b.returned = emptied(b.returned)
	b.rang = false
	b.waiters = b.waiters[:0]
	in.mu.Lock()
	defer in.mu.Unlock()
	in.batch, *b = *b, in.batch
}

// all returns the events of the batch in an order in which a cause comes before its effect.
func (b *batch) all() []Event {
	if len(b.reported) > 0 {
		b.events = append(b.events, Reported{b.reported})
	}
	if len(b.finished) > 0 {
		b.events = append(b.events, Finished{b.finished})
	}
	if len(b.returned) > 0 {
		b.events = append(b.events, Unstuck{b.returned})
	}
	return b.events
}

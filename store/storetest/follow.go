package storetest

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func followPromises() []promise {
	return []promise{
		{"N6_EachCommitWakesItsFollowers", eachCommitWakes},
		{"N6_EndedFollowerIsNotWoken", endedIsNotWoken},
	}
}

// followWait is how long a check waits for a wake-up. It is far above the 50 ms of the
// contract, because the machine may be busy.
const followWait = 10 * time.Second

// part of: N6
func eachCommitWakes(r *rig) {
	woken, other := make(chan struct{}, 1), make(chan struct{}, 1)
	defer r.Follow(woken)()
	defer r.Follow(other)()
	// Each call of wakes carries out an operation. It checks that a wake-up comes, and that the
	// events of the operation can be read after it.
	wakes := func(what string, do func()) {
		after := r.cursor()
		do()
		late := time.NewTimer(followWait)
		defer late.Stop()
		for {
			select {
			case <-woken:
				if len(r.events(after)) > 0 {
					return
				}
			case <-late.C:
				r.fail("%s: got no wake-up within %s after the commit, want one", what, followWait)
			}
		}
	}
	var id job.ID
	var c job.Claim
	wakes("enqueue", func() { id = r.add() })
	wakes("claim", func() { c = r.takeID(id) })
	wakes("progress", func() {
		_, err := r.Heartbeat(ctx(), store.Beat{Lease: lease, Runs: []store.Run{runOf(c)}, Progress: []job.Progress{{ID: id, Token: c.Token, Done: 1, Total: 2}}})
		r.ok(err)
	})
	wakes("retry later", func() { r.end(failed(c, "A", time.Hour)) })
	wakes("cancel", func() { r.ok(r.cancel(id)) })
	wakes("death", func() { r.die("A") })
	wakes("change of a cause", func() { r.resolve("A", true) })
	wakes("completion", func() { id = r.add(); r.end(succeeded(r.takeID(id))) })
	wakes("note", func() { r.addNote(feedbackOn(id, "x")) })
	wakes("change of a queue", func() { r.set(store.QueueChange{Workers: new(3)}) })
	select {
	case <-other:
	default:
		r.fail("the second follower got no wake-up after the commit, want one")
	}
}

// part of: N6
func endedIsNotWoken(r *rig) {
	ended, woken := make(chan struct{}, 1), make(chan struct{}, 1)
	stop := r.Follow(ended)
	defer r.Follow(woken)()
	stop()
	select {
	case <-ended: // discard a wake-up for an earlier commit
	default:
	}
	r.add()
	late := time.NewTimer(followWait)
	defer late.Stop()
	select {
	case <-woken:
	case <-late.C:
		r.fail("the other follower got no wake-up within %s after the commit, want one", followWait)
	}
	select {
	case <-ended:
		r.fail("a follower that has ended got a wake-up, want none")
	default:
	}
}

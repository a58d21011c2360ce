package storetest

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// This file has the methods of the rig for dead jobs and for actions on dead letters.

// dead makes a dead job and returns its id.
func (r *rig) dead(options ...func(*job.New)) job.ID {
	id := r.add(options...)
	r.end(died(r.takeID(id), "InvalidInput", job.NonRetriable))
	return id
}

// die makes a job that dies with a failure of the given class. It returns the job's id.
func (r *rig) die(class string, options ...func(*job.New)) job.ID {
	id := r.add(options...)
	r.end(died(r.takeID(id), class, job.NonRetriable))
	return id
}

// dieAll makes n jobs that die in one exchange with failures of the given class. It returns
// their ids.
func (r *rig) dieAll(n int, class string) []job.ID {
	jobs := make([]job.New, n)
	for i := range jobs {
		jobs[i] = r.newJob()
	}
	r.enqueue(jobs...)
	claims := r.claim(want(n))
	outcomes := make([]job.Outcome, len(claims))
	for i, c := range claims {
		outcomes[i] = died(c, class, job.NonRetriable)
	}
	r.end(outcomes...)
	all := make([]job.ID, n)
	for i := range jobs {
		all[i] = jobs[i].ID
	}
	return all
}

func (r *rig) preview(a store.Action) store.Acted {
	answer, err := r.Preview(ctx(), a)
	r.ok(err)
	return answer
}

// act carries out an action in as many steps as necessary. It returns the number of changed
// dead letters.
func (r *rig) act(a store.Action) (done int64) {
	if a.Filter != nil && a.Through == 0 {
		if a.Through = r.preview(a).Through; a.Through == 0 {
			return 0 // there are no dead letters, so there is no frozen set
		}
	}
	for {
		answer, err := r.Act(ctx(), person, a)
		r.ok(err)
		if done += answer.Done; answer.Next == 0 {
			return done
		}
		if answer.Next <= a.After || answer.Next > a.Through {
			r.fail("the step after death %d continues after death %d, want a later death, at most %d", a.After, answer.Next, a.Through)
		}
		a.After = answer.Next
	}
}

// actOn applies an act to one job and returns the error for this job.
func (r *rig) actOn(do store.Act, id job.ID, options ...func(*store.Action)) error {
	a := store.Action{Do: do, IDs: []job.ID{id}}
	for _, o := range options {
		o(&a)
	}
	answer, err := r.Act(ctx(), person, a)
	return r.only(answer.Errors, err)
}

// listed reads all pages of the dead letters that a filter selects and returns the ids of
// their jobs.
func (r *rig) listed(f store.DeadFilter, limit int) (found []job.ID) {
	p := store.DeadPaging{Limit: limit}
	for {
		page, err := r.DeadLetters(ctx(), f, p)
		r.ok(err)
		if len(page.Entries) > max(limit, 1) {
			r.fail("the page has %d entries, want at most its limit of %d", len(page.Entries), limit)
		}
		for _, e := range page.Entries {
			found = append(found, e.DeadLetter.Job)
		}
		if page.Next == 0 {
			return found
		}
		p.Before = page.Next
	}
}

func (r *rig) redrive(id int64) store.Redrive {
	d, err := r.Redrive(ctx(), id)
	r.ok(err)
	return d
}

// startRedrive starts a redrive of the dead letters that a filter selects.
func (r *rig) startRedrive(options ...func(*store.RedriveSpec)) store.Redrive {
	var spec store.RedriveSpec
	for _, o := range options {
		o(&spec)
	}
	all := r.preview(store.Action{Do: store.ActRetry, Filter: &spec.Filter})
	if spec.Through == 0 {
		spec.Through, spec.Total = all.Through, all.Done
	}
	d, err := r.StartRedrive(ctx(), person, spec)
	r.ok(err)
	return d
}

func (r *rig) step(limit int) store.RedriveStep {
	answer, err := r.StepRedrives(ctx(), limit)
	r.ok(err)
	return answer
}

// sweep makes sweeps until there is nothing more to remove. It returns the sum of the removed
// rows.
func (r *rig) sweep(keep store.Retention, limit int) (sum store.Swept) {
	r.removed = true
	for range 10_000 {
		s, err := r.Sweep(ctx(), keep, limit)
		r.ok(err)
		sum.Completed += s.Completed
		sum.Failures += s.Failures
		sum.Dead += s.Dead
		sum.Pending += s.Pending
		sum.Events += s.Events
		sum.Keys += s.Keys
		sum.Batches += s.Batches
		sum.Reopened += s.Reopened
		if !s.More {
			return sum
		}
	}
	r.fail("after many steps there are still rows to remove, want none")
	return sum
}

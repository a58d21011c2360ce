package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redrive/redrive/store"
)

// StepRedrives implements store.Redrives.
func (s *Core) StepRedrives(ctx context.Context, limit int) (answer store.RedriveStep, err error) {
	if limit < 1 || limit > store.StepMax {
		return answer, fmt.Errorf("redrive step of up to %d jobs: the number must be 1 to %d: %w", limit, store.StepMax, store.ErrInvalid)
	}
	var active []store.Redrive // usually empty, and then no write transaction is needed
	err = s.db.Read(ctx, func(c Session) error {
		active, err = readRedrives(c, selActive)
		active = slices.DeleteFunc(active, func(r store.Redrive) bool { return !r.State.Active() })
		return err
	})
	if err != nil || len(active) == 0 {
		return store.RedriveStep{Wait: store.Never}, err
	}
	live := slices.DeleteFunc(slices.Clone(active), func(r store.Redrive) bool { return r.Live == nil })
	step := redriveStep{limit: limit, answer: store.RedriveStep{Wait: store.Never}}
	err = s.stepAll(ctx, &step, len(active) > len(live), live)
	if errors.Is(err, ErrDeadLettersLocked) {
		return store.RedriveStep{Wait: lockedAgain, Active: len(active)}, nil
	}
	if err != nil {
		return store.RedriveStep{}, err
	}
	if step.answer.Released == int64(limit) {
		step.answer.Wait = 0
	}
	return step.answer, nil
}

// stepAll makes one step of each redrive. All redrives of dead letters share a transaction. Each
// redrive of live jobs has a separate transaction, because live jobs must be locked before dead
// letters and redrives.
func (s *Core) stepAll(ctx context.Context, step *redriveStep, dead bool, live []store.Redrive) error {
	if dead {
		before := step.answer
		err := s.db.BackgroundWrite(ctx, func(t *Txn) error {
			step.answer = before
			return step.dead(t, len(live) > 0)
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(live, func(a, b store.Redrive) int { return store.RedriveTurns(&a, &b) })
	limit := step.limit
	for i := range live {
		before := step.answer
		step.limit = int(before.Released) + store.RedriveShare(limit-int(before.Released), len(live)-i)
		err := s.db.BackgroundWrite(ctx, func(t *Txn) error {
			step.answer = before
			return step.live(t, live[i].ID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// redriveStep is one call of StepRedrives.
type redriveStep struct {
	limit  int
	answer store.RedriveStep
}

// left returns how many more jobs the step may change.
func (s *redriveStep) left() int { return s.limit - int(s.answer.Released) }

// dead makes one step of each redrive of dead letters. If the last argument is true, the steps
// together may use only half of the limit.
func (s *redriveStep) dead(t *Txn, half bool) error {
	if err := t.lockDeadLetters(); err != nil {
		return err
	}
	list, err := readRedrives(t.s, selActive)
	if err != nil {
		return err
	}
	// A person may have paused a redrive since the list was read.
	list = slices.DeleteFunc(list, func(r store.Redrive) bool { return !r.State.Active() || r.Live != nil })
	slices.SortFunc(list, func(a, b store.Redrive) int { return store.RedriveTurns(&a, &b) })
	left := s.left()
	if half {
		left = store.RedriveShare(left, 2)
	}
	for i := range list {
		r := &list[i]
		before := *r
		plan := r.Plan(t.now, store.RedriveShare(left, len(list)-i))
		if plan.Release > 0 {
			released, err := t.release(r, plan)
			if err != nil {
				return err
			}
			s.answer.Released += released
			left -= int(released)
		}
		if err := s.stepped(t, &before, r, plan); err != nil {
			return err
		}
	}
	return nil
}

// live makes one step of a redrive of live jobs.
func (s *redriveStep) live(t *Txn, id int64) error {
	r, err := oneRedrive(t.s, id)
	if err != nil || !r.State.Active() { // a person may have paused the redrive since the list was read
		return err
	}
	before := r
	plan := r.Plan(t.now, s.left())
	if plan.Release > 0 {
		changed, err := t.changeLive(&r, plan)
		if err != nil {
			return err
		}
		s.answer.Released += changed
	}
	return s.stepped(t, &before, &r, plan)
}

// stepped adds the result of a redrive's step to the answer, and writes the changes of the
// redrive.
func (s *redriveStep) stepped(t *Txn, before, r *store.Redrive, plan store.RedrivePlan) error {
	if r.State.Active() {
		s.answer.Wait = min(s.answer.Wait, plan.Wait)
		s.answer.Active++
	}
	err := t.stepped(before, r)
	if !r.State.Active() {
		s.answer.Ended = append(s.answer.Ended, *r)
	}
	return err
}

// changeLive changes live jobs as the plan of their redrive says. It returns the number of changed
// jobs. If another process has made a step of the redrive in the meantime, it changes nothing.
func (t *Txn) changeLive(r *store.Redrive, plan store.RedrivePlan) (int64, error) {
	a := r.LiveAction(plan.Release)
	p := newPicker(t, &a)
	found, err := p.pick(plan.Release)
	if err != nil {
		return 0, err
	}
	jobs, err := p.lock(found.jobs)
	if err != nil {
		return 0, err
	}
	t.noDeadLetters = false // redrives are locked together with dead letters, after live jobs
	if err := t.lockDeadLetters(); err != nil {
		return 0, err
	}
	now, err := oneRedrive(t.s, r.ID)
	if err != nil || now.Cursor != r.Cursor || now.State != r.State {
		return 0, err
	}
	done, blocked, err := t.doLive(redriver(r.ID), &a, jobs)
	if err != nil {
		return 0, err
	}
	did := store.RedriveDone{Released: int64(done), Cursor: int64(found.edge), Exhausted: !found.more, Blocked: blocked}
	switch {
	case blocked == nil && !found.more:
		did.Cursor = r.Through
	case blocked == nil:
	case done > 0:
		did.Cursor = int64(jobs[done-1].id)
	default:
		did.Cursor = r.Cursor
	}
	r.RecordStep(t.now, plan, did)
	return did.Released, nil
}

// stepped writes how a step has changed a redrive. If the state is new, it also writes an
// audit row and an event.
func (t *Txn) stepped(before, r *store.Redrive) error {
	if r.State == before.State && r.Cursor == before.Cursor && r.LastAt == before.LastAt && r.Released == before.Released {
		return nil
	}
	if r.State == before.State {
		return t.keepRedrive(r)
	}
	if err := errors.Join(t.auditReleases(r), t.keepRedrive(r)); err != nil {
		return err
	}
	t.events.Add(new(store.RedriveEvent(r)))
	action := ""
	switch r.State {
	case store.RedriveStopped:
		action = "redrive.stop"
		if err := t.insertNotices(store.StoppedNotices(t.cat.rules, r)); err != nil {
			return err
		}
	case store.RedriveCompleted:
		action = "redrive.complete"
	case store.RedriveEnded:
		action = "redrive.end"
	case store.RedriveCanary, store.RedriveRamping, store.RedriveSettling, store.RedrivePaused, store.RedriveCancelled:
		return nil // no audit row: the redrive continues in the same state, or a person changed the state
	}
	return t.audit(store.By{Actor: "redrive", Reason: r.Why}, action, strconv.FormatInt(r.ID, 10), string(before.State), string(r.State))
}

// redriver returns the actor for the audit rows of a redrive.
func redriver(id int64) store.By { return store.By{Actor: "redrive " + strconv.FormatInt(id, 10)} }

// auditReleases writes an audit row with the number of jobs released since the last such row.
// It is called only when the redrive's state changes. Rows for each step would be thousands of
// rows, because a rate limit makes the steps small.
func (t *Txn) auditReleases(r *store.Redrive) error {
	n := r.TakeUnaudited()
	if n == 0 {
		return nil
	}
	return t.audit(redriver(r.ID), "redrive.release", strconv.FormatInt(r.ID, 10), "", fmt.Sprintf(`{"done":%d}`, n))
}

package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

var (
	selWindow  = ask("selWindow")
	ofWindows  = ask("ofWindows")
	putWindow  = ask("putWindow")
	delWindow  = ask("delWindow")
	dueWindows = ask("dueWindows")
	nextWindow = ask("nextWindow")
	allWindows = ask("allWindows")

	selItems = ask("selItems")
	insItem  = ask("insItem")
	delItems = ask("delItems")
)

// windows are the windows of notifications in a transaction that has locked them.
type windows struct{ t *Txn }

// Window implements notify.Windows.
func (s windows) Window(scope int64, target string) (w *notify.Window, err error) {
	err = s.t.rows(selWindow, func(r Row) (err error) { w, err = notify.ReadWindow(r.Blob(0)); return err }, num(scope), text(target))
	return w, err
}

// Of implements notify.Windows.
func (s windows) Of(batch int64) (all []*notify.Window, err error) {
	err = s.t.rows(ofWindows, func(r Row) error {
		w, err := notify.ReadWindow(r.Blob(0))
		all = append(all, w)
		return err
	}, num(batch))
	return all, err
}

// Items implements notify.Windows.
func (s windows) Items(w *notify.Window) (all []notify.Item, err error) {
	err = s.t.rows(selItems, func(r Row) error {
		var i notify.Item
		err := json.Unmarshal(r.Blob(0), &i)
		all = append(all, i)
		return err
	}, num(w.Scope), text(w.Target()))
	listed := all[:0]
	for _, i := range all {
		var now store.Present
		if i.Job != nil && err == nil {
			now, err = s.t.jobNow(i.Subject.Job)
		}
		if i.Since(now.Life) {
			listed = append(listed, i)
		}
	}
	return listed, err
}

// Keep implements notify.Windows.
func (s windows) Keep(w *notify.Window) error {
	scope, target := num(w.Scope), text(w.Target())
	if _, err := s.t.exec(putWindow, scope, target, setNum(int64(w.DueAt)), blob(w.Encode())); err != nil {
		return err
	}
	if w.Cleared() {
		if _, err := s.t.exec(delItems, scope, target); err != nil {
			return err
		}
	}
	fresh := w.Fresh()
	for i := range fresh {
		body, err := json.Marshal(&fresh[i])
		if err == nil {
			_, err = s.t.exec(insItem, scope, target, num(w.Listed-len(fresh)+i), blob(body))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Drop implements notify.Windows.
func (s windows) Drop(w *notify.Window) error {
	scope, target := num(w.Scope), text(w.Target())
	_, err := s.t.exec(delItems, scope, target)
	if err == nil {
		err = s.t.one(delWindow, scope, target)
	}
	return err
}

// CloseWindows implements store.Notices.
func (s *Core) CloseWindows(ctx context.Context, limit int) (answer store.WindowStep, err error) {
	if limit < 1 || limit > store.StepMax {
		return answer, fmt.Errorf("close up to %d windows: the number must be 1 to %d: %w", limit, store.StepMax, store.ErrInvalid)
	}
	now := s.db.Clock.Now()
	next, err := s.nextWindow(ctx)
	if err != nil {
		return answer, err
	}
	if next != 0 && next <= now {
		err = s.db.BackgroundWrite(ctx, func(t *Txn) error {
			answer = store.WindowStep{}
			return t.closeWindows(limit, &answer)
		})
		if errors.Is(err, ErrDeadLettersLocked) {
			err = nil
		}
		if err == nil {
			next, err = s.nextWindow(ctx)
		}
	}
	answer.Wait = store.Never
	if next != 0 {
		answer.Wait = max(0, next.Sub(now))
	}
	return answer, err
}

func (s *Core) nextWindow(ctx context.Context) (next job.Micros, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		n, err := ReadInt(c, nextWindow)
		next = job.Micros(n)
		return err
	})
	return next, err
}

func (t *Txn) closeWindows(limit int, answer *store.WindowStep) error {
	if err := t.lockName("windows"); err != nil {
		return err
	}
	var due []*notify.Window
	err := t.rows(dueWindows, func(r Row) error {
		w, err := notify.ReadWindow(r.Blob(0))
		due = append(due, w)
		return err
	}, num(t.now), num(limit))
	for _, w := range due {
		if err != nil {
			break
		}
		var made []notify.Notice
		if made, err = notify.Close(w, t.now, windows{t}); err == nil {
			err = t.insertNotices(made)
		}
		answer.Closed++
		answer.Notices += len(made)
	}
	return err
}

// dumpNotify reads the rules of notifications and the windows.
func dumpNotify(c Session, d *store.Dump) error {
	err := c.Rows(allRules, func(r Row) error { d.Notify = append(d.Notify, scanRules(r)); return nil })
	if err != nil {
		return err
	}
	name := ""
	return c.Rows(allWindows, func(r Row) error {
		if scope := fmt.Sprintf("%d %s", r.Int(0), r.Text(1)); scope != name {
			name = scope
			d.Windows = append(d.Windows, fmt.Sprintf("%s %s", name, r.Blob(2)))
		}
		if item := r.Blob(3); item != nil {
			d.Windows[len(d.Windows)-1] += "\n" + string(item)
		}
		return nil
	})
}

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	setProcess     = ask("setProcess")
	putProcess     = ask("putProcess")
	delProcess     = ask("delProcess")
	countProcesses = ask("countProcesses")
	allProcesses   = ask("allProcesses")
	selSilent      = ask("selSilent")
	setSilent      = ask("setSilent")
	delSilent      = ask("delSilent")
	selNamed       = ask("selNamed")
	quietNamed     = ask("quietNamed")
)

// lockedProcesses is the name of the lock for changing the rows of other processes. A
// transaction takes the lock before it writes its process's row, so that two transactions
// cannot deadlock.
const lockedProcesses = "processes"

// Present implements store.Presence.
func (s *Core) Present(ctx context.Context, p store.Process) (orders store.Orders, err error) {
	if err := p.Validate(); err != nil {
		return store.Orders{}, err
	}
	err = s.db.SignWrite(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		// After a jump of the clock, no process is marked as silent until the other processes
		// have had time to report.
		if s.grace(t.now) == 0 {
			if err := t.findSilent(&p); err != nil {
				return err
			}
		}
		if p.Left {
			orders = store.Orders{NextExpiry: store.Never}
			return t.leave(&p)
		}
		if orders, err = t.present(&p); err == nil {
			orders.NextExpiry, err = t.nextExpiry()
		}
		return err
	})
	if err != nil {
		return store.Orders{}, err
	}
	return orders, nil
}

func (t *Txn) present(p *store.Process) (orders store.Orders, err error) {
	known := false
	read := func(r Row) error {
		known, orders.Quiet = true, r.Int(0) != 0
		return nil
	}
	t.wrote = true
	err = t.rows(setProcess, read, text(p.Name), text(p.Instance), num(t.now), text(p.Policy), num(p.Slots), num(p.Running), sickText(p.Sick))
	if err != nil || known {
		return orders, err
	}
	n, err := ReadInt(t.s, countProcesses)
	if err == nil && n >= store.ProcessesMax {
		err = fmt.Errorf("process %q: the store already has %d processes, which is the maximum: %w", p.Name, n, store.ErrTooLarge)
	}
	if err != nil {
		return orders, err
	}
	err = t.rows(putProcess, read, text(p.Name), text(p.Instance), text(p.What), text(p.Host), num(p.PID), text(p.Version),
		setText(p.Build), text(p.Policy), num(t.now), text(strings.Join(p.Queues, " ")), text(strings.Join(p.Kinds, " ")),
		num(p.Slots), num(p.Running), sickText(p.Sick))
	t.processEvent(event.ProcessStarted, p.Name)
	return orders, err
}

func (t *Txn) processEvent(of event.Type, name string) {
	e := store.ProcessEvent(of, name)
	t.events.Add(&e)
}

// leave removes the row of a process that ends.
func (t *Txn) leave(p *store.Process) error {
	n, err := t.exec(delProcess, text(p.Name), text(p.Instance))
	if err != nil {
		return err
	}
	if n == 0 {
		t.reliesOnEarlier = true
		return nil
	}
	t.processEvent(event.ProcessStopped, p.Name)
	return nil
}

// findSilent marks the other processes that have become silent. It removes the rows of silent
// processes that are too old, or that have the name of the process p and so are replaced by it.
func (t *Txn) findSilent(p *store.Process) error {
	type name struct{ name, instance string }
	var found []name
	silent, old := t.now.Add(-store.SilentAfter), t.now.Add(-store.SilentKept)
	err := t.rows(selSilent, func(r Row) error {
		if n := (name{r.Text(0), r.Text(1)}); n.name != p.Name || n.instance != p.Instance {
			found = append(found, n)
		}
		return nil
	}, num(silent), num(old), text(p.Name))
	if err != nil || len(found) == 0 {
		return err
	}
	if err := t.lockName(lockedProcesses); err != nil {
		return err
	}
	for _, f := range found {
		// Another transaction may have changed the row before this transaction got the lock.
		n, err := t.exec(setSilent, text(f.name), text(f.instance), num(silent))
		if err != nil {
			return err
		}
		if n > 0 {
			t.processEvent(event.ProcessSilent, f.name)
		}
		remove := old
		if f.name == p.Name {
			remove = silent
		}
		if _, err := t.exec(delSilent, text(f.name), text(f.instance), num(remove)); err != nil {
			return err
		}
	}
	return nil
}

// Processes implements store.Presence.
func (s *Core) Processes(ctx context.Context) (list []store.Process, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = ReadProcesses(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	now := s.db.Clock.Now()
	for i := range list {
		list[i].Silent = list[i].SilentBy(now)
	}
	return list, nil
}

// ReadProcesses returns the registered processes, sorted by name and instance. If the field
// Silent of a process is true, another process has marked it as silent.
func ReadProcesses(c Session) (list []store.Process, err error) {
	err = c.Rows(allProcesses, func(r Row) error { list = append(list, scanProcess(r)); return nil })
	return list, err
}

func scanProcess(r Row) store.Process {
	return store.Process{
		Name: r.Text(0), Instance: r.Text(1), What: r.Text(2), Host: r.Text(3), PID: int(r.Int(4)), Version: r.Text(5), Build: r.Text(6),
		Policy: r.Text(7), StartedAt: job.Micros(r.Int(8)), SeenAt: job.Micros(r.Int(9)), Queues: strings.Fields(r.Text(10)),
		Kinds: strings.Fields(r.Text(11)), Slots: int(r.Int(12)), Running: int(r.Int(13)), Quiet: r.Int(14) != 0, Silent: r.Int(15) != 0,
		Sick: scanSick(r.Text(16)),
	}
}

// sickText returns the stored form of Process.Sick: for each entry two lines, the kind and
// the cause. It is NULL for a healthy process.
func sickText(list []store.Sickness) Value {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s\n%s\n", s.Kind, s.Cause)
	}
	return setText(b.String())
}

func scanSick(stored string) (list []store.Sickness) {
	lines := strings.Split(stored, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		list = append(list, store.Sickness{Kind: lines[i], Cause: lines[i+1]})
	}
	return list
}

// OrderProcess implements store.Presence.
func (s *Core) OrderProcess(ctx context.Context, by store.By, name string, quiet bool) error {
	if err := errors.Join(by.Validate(), store.ValidProcess(name)); err != nil {
		return err
	}
	return s.db.Write(ctx, func(t *Txn) error { return t.orderProcess(by, name, quiet) })
}

func (t *Txn) orderProcess(by store.By, name string, quiet bool) error {
	if err := t.lockName(lockedProcesses); err != nil {
		return err
	}
	known, err := ReadInt(t.s, selNamed, text(name))
	if err == nil && known == 0 {
		err = fmt.Errorf("process %.80q: %w", name, store.ErrNotFound)
	}
	if err != nil {
		return err
	}
	n, err := t.exec(quietNamed, text(name), bit(quiet))
	if err != nil {
		return err
	}
	if n == 0 {
		t.reliesOnEarlier = true
		return nil
	}
	action, before, after := store.ProcessAudit(quiet)
	return t.audit(by, action, name, before, after)
}

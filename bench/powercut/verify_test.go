package powercut

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/plan"
)

const database = "jobs.db"

// verify compares the ledgers in a directory with the database there, and returns what is wrong. It
// is the same comparison that the torture test makes after kills.
func verify(ctx context.Context, dir string, at time.Time, drained bool) (problems []string) {
	notes, err := ledger.ReadAll(filepath.Join(dir, ledgerPrefix+"*"))
	if err != nil {
		return []string{err.Error()}
	}
	path := filepath.Join(dir, database)
	st, err := sqlite.Open(ctx, path, &sqlite.Options{Readers: 1})
	if err != nil {
		return []string{fmt.Sprintf("the database cannot be opened: %v", err)}
	}
	defer func() {
		if err := st.Close(); err != nil {
			problems = append(problems, fmt.Sprintf("the database cannot be closed: %v", err))
		}
	}()
	doctor, err := sqlite.Diagnose(ctx, path, func() time.Time { return at })
	if err != nil {
		return []string{fmt.Sprintf("doctor: %v", err)}
	}
	dump, err := st.Dump(ctx)
	if err != nil {
		return []string{fmt.Sprintf("the database cannot be read: %v", err)}
	}
	for _, v := range check.Check(&check.History{
		Enqueues: notes.Enqueues, Runs: notes.Runs, Writes: notes.Writes,
		Dump: dump, Integrity: doctor.Problems, Limits: plan.Limits(), Drained: drained,
	}) {
		problems = append(problems, v.String())
	}
	if err := check.Figures(dump, false); err != nil {
		problems = append(problems, err.Error())
	}
	if drained {
		problems = append(problems, verdicts(notes.Plans, dump)...)
	}
	own, err := ownTables(ctx, path, notes, dump)
	if err != nil {
		return append(problems, err.Error())
	}
	return append(problems, own...)
}

// verdicts returns the jobs that have not ended as their plans say.
func verdicts(plans map[string]plan.Plan, dump *store.Dump) (problems []string) {
	for i := range dump.Jobs {
		j := &dump.Jobs[i]
		p, ok := plans[j.Correlation]
		if !ok || notify.Sends(j.Kind) { // a callback of a batch, or a notice of the job's death
			continue
		}
		if err := p.Verdict(j); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

// ownTables compares the tables of the application with the jobs: an order is stored if and only if
// its job is, and a run that completed a job in a transaction has exactly one effect.
func ownTables(ctx context.Context, path string, notes *ledger.Notes, dump *store.Dump) (problems []string, err error) {
	stored, completed := make(map[string]bool), make(map[store.Run]bool)
	for i := range dump.Jobs {
		j := &dump.Jobs[i]
		if notify.Sends(j.Kind) {
			continue
		}
		stored[j.Correlation] = true
		if notes.Plans[j.Correlation] == plan.Tx && j.State == job.Completed {
			completed[store.Run{ID: j.ID, Token: j.Token}] = true
		}
	}
	orders := make(map[string]bool)
	err = query(ctx, path, `SELECT name, 0, 0 FROM orders`, func(name string, _ store.Run) {
		orders[name] = true
		if !stored[name] {
			problems = append(problems, fmt.Sprintf("order %s is stored, but its job is missing", name))
		}
	})
	if err != nil {
		return nil, err
	}
	for _, name := range notes.InTx {
		if stored[name] && !orders[name] {
			problems = append(problems, fmt.Sprintf("the job of order %s is stored, but the order is missing", name))
		}
	}
	err = query(ctx, path, `SELECT '', job, run FROM effects`, func(_ string, run store.Run) {
		if !completed[run] {
			problems = append(problems, fmt.Sprintf("run %d of job %d either has an effect without having completed the job, or has two effects", run.Token, run.ID))
		}
		delete(completed, run)
	})
	for run := range completed {
		problems = append(problems, fmt.Sprintf("run %d completed job %d, but its effect is missing", run.Token, run.ID))
	}
	return problems, err
}

// query reads rows of an application's table. A table that was not yet created is empty.
func query(ctx context.Context, path, text string, each func(name string, run store.Run)) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		if strings.Contains(err.Error(), "no such table") {
			return nil
		}
		return err
	}
	defer func() { _ = rows.Close() }() // no error check: rows.Err returns the error
	for rows.Next() {
		var name string
		var run store.Run
		if err := rows.Scan(&name, &run.ID, &run.Token); err != nil {
			return err
		}
		each(name, run)
	}
	return rows.Err()
}

// write writes the files of an image into a new directory.
func (img image) write(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, data := range img {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// longTransaction is how long one may take before it holds up what others need:
	// the cleaning of tables, and the reading of events.
	longTransaction = time.Minute
	// clockApart is how far the clocks of this machine and of the server may differ
	// before people will wonder about the times that they see.
	clockApart = 5 * time.Second
	// storedApart is how far a stored time may be ahead of the server's clock, which was
	// set back by NTP; time goes on at half speed until that has caught up.
	storedApart = time.Minute
	// deadTuples is the share of a table's rows that may wait to be cleaned, above
	// deadFew of them.
	deadTuples, deadFew = 0.5, 100_000
	// unfoldedMany is more rows of events than a second's commits.
	unfoldedMany = 100_000
)

// Diagnosis is what Diagnose finds.
type Diagnosis struct {
	Where    string            `json:"database"`
	Name     string            `json:"schema_name"`
	Schema   store.Schema      `json:"schema"`
	Server   string            `json:"server"`   // version
	Pooled   bool              `json:"pooled"`   // a pooler is between
	Settings map[string]string `json:"settings"` // of the server that matter here
	Size     int64             `json:"size"`     // bytes, of redrive's tables with their indexes
	Tables   []TableStats      `json:"tables"`   // largest first
	// Connections is how many the server has of all programs, and Allowed the most.
	Connections int64 `json:"connections"`
	Allowed     int64 `json:"connections_allowed"`

	// OldestTransaction is how long ago the oldest transaction of the server began
	// that has written, OldestSnapshot the oldest that looks at the past. The first
	// holds back events, the second the cleaning of tables.
	OldestTransaction time.Duration `json:"oldest_transaction_ns"`
	OldestSnapshot    time.Duration `json:"oldest_snapshot_ns"`
	// Hidden is how many rows of events are committed and not to be read yet, EventLag
	// since when the oldest of them is.
	Hidden   int64         `json:"hidden_events"`
	EventLag time.Duration `json:"event_lag_ns"`
	// Unfolded is how many rows of events are not in the counters' table yet.
	Unfolded int64 `json:"unfolded_events"`
	// StoredAhead is how far the latest stored time is ahead of the server's clock, 0
	// when it is not: no process goes by an earlier one.
	StoredAhead time.Duration `json:"stored_ahead_ns"`

	// SpaceUnknown says why Space is not known; "" when it is.
	SpaceUnknown string `json:"space_unknown,omitempty"`

	store.Findings // of redrive's own tables, and all problems
}

// TableStats is how large a table of redrive's is.
type TableStats struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes, with indexes
	Live int64  `json:"rows"` // an estimate
	Dead int64  `json:"dead"` // rows that wait to be cleaned; an estimate
}

func (r *Diagnosis) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Diagnose examines a database: how the server is set up, what holds it up, and
// whether redrive's counters agree with its rows. It reads every row, and changes
// nothing. What is wrong is in the report; an error means that it could not be
// examined. The name of the schema is the default one when it is empty. Now is
// the machine's time, to which the server's is compared.
func Diagnose(ctx context.Context, dsn, schema string, now func() time.Time) (*Diagnosis, error) {
	conn, config, schema, err := dialFor(ctx, dsn, schema)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }() // it was only asked
	r := &Diagnosis{Where: place(config), Name: schema, Settings: map[string]string{}, Findings: sqlstore.NewFindings()}
	err = asked(ctx, conn, 0, func() error {
		found, err := examine(ctx, conn)
		switch {
		case err != nil && found.version == 0:
			return err
		case err != nil:
			r.problem("%v", err)
		}
		r.Pooled = found.pooled
		if r.Schema, err = readSchema(ctx, conn, schema); err != nil {
			return err
		}
		return r.clock(ctx, conn, now)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Where, err)
	}
	if err := conn.PgConn().Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; `+setLocal(own(0))).Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Where, pg.AsStoreError(err))
	}
	c := pg.NewSession(ctx, conn.PgConn(), textsFor(schema))
	if err := r.examine(c); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.problem("cannot be read: %v", pg.AsStoreError(err))
	}
	return r, nil
}

// clock compares the two clocks.
func (r *Diagnosis) clock(ctx context.Context, conn *pgx.Conn, now func() time.Time) error {
	sent := now()
	at, err := ask(ctx, conn, `SELECT `+serverTime)
	if err != nil {
		return err
	}
	trip := now().Sub(sent)
	r.ClockAhead = job.Micros(at).Time().Sub(sent.Add(trip / 2))
	if r.ClockAhead > clockApart || r.ClockAhead < -clockApart {
		r.problem("the server's clock is %s ahead of this machine's: set both by NTP; redrive goes by the server's",
			r.ClockAhead.Round(time.Millisecond))
	}
	return nil
}

func (r *Diagnosis) examine(c *pg.Session) error {
	if err := r.settings(c); err != nil {
		return err
	}
	if err := r.Schema.Fits(); err != nil {
		r.problem("%v", err)
		return nil
	}
	switch {
	case r.Schema.Version == 0:
		r.problem("the schema %q has no tables of redrive's; `redrive migrate`, or a program that opens it, makes them", r.Name)
		return nil
	case r.Schema.Version < r.Schema.Known:
		r.problem("it has schema %d and this program uses %d; run `redrive migrate`", r.Schema.Version, r.Schema.Known)
		return nil
	}
	return errors.Join(r.tables(c), r.space(c), r.activity(c), r.prepared(c, longTransaction), r.events(c), r.jobs(c), r.deadLetters(c))
}

var (
	selSettingsOf    = &sqlstore.Query{Name: "selSettingsOf"}
	countConnections = &sqlstore.Query{Name: "countConnections"}
	listTables       = &sqlstore.Query{Name: "listTables"}
	selDirectory     = &sqlstore.Query{Name: "selDirectory"}
	listTransactions = &sqlstore.Query{Name: "listTransactions"}
	listPrepared     = &sqlstore.Query{Name: "listPrepared"}
	countHidden      = &sqlstore.Query{Name: "countHidden"}
	countUnfolded    = &sqlstore.Query{Name: "countUnfolded"}
	selNow           = &sqlstore.Query{Name: "selNow"}
	selFoldLag       = &sqlstore.Query{Name: "selFoldLag"}
)

func (r *Diagnosis) settings(c *pg.Session) error {
	err := c.Rows(selSettingsOf, func(row sqlstore.Row) error { r.Settings[row.Text(0)] = row.Text(1); return nil })
	if err != nil {
		return err
	}
	r.Server = r.Settings["server_version"]
	for _, name := range []string{"fsync", "full_page_writes"} {
		if r.Settings[name] == "off" {
			r.problem("%s is off: the server loses acknowledged jobs, or its whole database, when its machine does: "+
				"set %s = on in postgresql.conf", name, name)
		}
	}
	if r.Settings["autovacuum"] == "off" {
		r.problem("autovacuum is off: tables grow and claims get slower without end: set autovacuum = on in postgresql.conf")
	}
	return c.Rows(countConnections, func(row sqlstore.Row) error {
		r.Connections, r.Allowed = row.Int(0), row.Int(1)
		if r.Connections*10 > r.Allowed*9 {
			r.problem("%d of %d connections of the server are taken: raise max_connections, or use a pooler", r.Connections, r.Allowed)
		}
		return nil
	})
}

func (r *Diagnosis) tables(c *pg.Session) error {
	return c.Rows(listTables, func(row sqlstore.Row) error {
		t := TableStats{Name: row.Text(0), Size: row.Int(1), Live: row.Int(2), Dead: row.Int(3)}
		r.Size += t.Size
		r.Bytes = r.Size
		r.Tables = append(r.Tables, t)
		if t.Dead > deadFew && float64(t.Dead) > deadTuples*float64(t.Live+t.Dead) {
			r.problem("%s has %d rows that wait to be cleaned beside %d: end old transactions (below), and see that autovacuum keeps up",
				t.Name, t.Dead, t.Live)
		}
		return nil
	}, text(r.Name))
}

// space finds the free space of the server's file system, if the server runs on this machine.
func (r *Diagnosis) space(c *pg.Session) error {
	return c.Rows(selDirectory, func(row sqlstore.Row) error {
		if row.Text(1) == "" {
			r.SpaceUnknown = "the role may not read the server's data_directory: GRANT pg_read_all_settings TO it"
			return nil
		}
		r.Space, r.SpaceUnknown = spaceOf(row.Int(0), row.Text(1))
		return nil
	}, text(r.Name))
}

// activity looks for transactions that hold others up.
func (r *Diagnosis) activity(c *pg.Session) error {
	age := func(row sqlstore.Row, col int) time.Duration { return time.Duration(row.Int(col)) * time.Microsecond }
	return c.Rows(listTransactions,
		func(row sqlstore.Row) error {
			took, wrote := age(row, 4), row.Int(3) != 0
			if wrote {
				r.OldestTransaction = max(r.OldestTransaction, took)
			} else {
				r.OldestSnapshot = max(r.OldestSnapshot, took)
			}
			if took < longTransaction {
				return nil
			}
			what := "keeps tables from being cleaned"
			if wrote {
				what = "keeps tables from being cleaned and events from being read"
			}
			r.problem("the process %d of the server (%q, %s, database %q) has a transaction open for %s, which %s: "+
				"end it, or SELECT pg_terminate_backend(%[1]d)",
				row.Int(0), row.Text(1), row.Text(2), row.Text(5), took.Round(time.Second), what)
			return nil
		})
}

// prepared looks for transactions that were prepared and forgotten: they are in no
// process's hands, and outlive a restart of the server. Long is from when on one is a
// problem.
func (r *Diagnosis) prepared(c *pg.Session, long time.Duration) error {
	return c.Rows(listPrepared,
		func(row sqlstore.Row) error {
			took := time.Duration(row.Int(3)) * time.Microsecond
			if r.OldestTransaction = max(r.OldestTransaction, took); took < long {
				return nil
			}
			gid := strings.ReplaceAll(row.Text(0), "'", "''")
			r.problem("the prepared transaction '%s' (role %q, database %q) is open for %s, which keeps its locks, tables from being cleaned "+
				"and events from being read: COMMIT PREPARED '%[1]s' or ROLLBACK PREPARED '%[1]s' in that database",
				gid, row.Text(1), row.Text(2), took.Round(time.Second))
			return nil
		})
}

func (r *Diagnosis) events(c *pg.Session) error {
	err := c.Rows(countHidden, func(row sqlstore.Row) error {
		r.Hidden, r.EventLag = row.Int(0), time.Duration(row.Int(1))*time.Microsecond
		return nil
	})
	if err != nil {
		return err
	}
	if r.Hidden > 0 && r.EventLag > longTransaction {
		r.problem("%d commits of the last %s cannot be read as events yet: an older transaction of the server is still under way",
			r.Hidden, r.EventLag.Round(time.Second))
	}
	return c.Rows(countUnfolded,
		func(row sqlstore.Row) error {
			if r.Unfolded = row.Int(0); r.Unfolded > unfoldedMany {
				r.problem("%d commits are not in the counters' table yet, so every look at the counters adds them up: "+
					"let a worker run", r.Unfolded)
			}
			return nil
		})
}

// jobs compares the counters with the rows, and looks for what is late.
func (r *Diagnosis) jobs(c *pg.Session) error {
	f := &r.Findings
	if err := c.Rows(sqlstore.Recount, sqlstore.CompareJobs(f)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.RecountPositions, sqlstore.CompareCounts(f)); err != nil {
		return err
	}
	now := job.Micros(0)
	if err := c.Rows(selNow, func(row sqlstore.Row) error { now = job.Micros(row.Int(0)); return nil }); err != nil {
		return err
	}
	if err := c.Rows(selStored, r.ahead(now)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.SelOldest, sqlstore.FindDue(f), sqlstore.Num(now)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.SelProcesses, sqlstore.FindProcesses(f, now)); err != nil {
		return err
	}
	err := c.Rows(selFoldLag, func(row sqlstore.Row) error {
		if oldest := job.Micros(row.Int(0)); oldest > 0 {
			f.CounterLag = max(0, now.Sub(oldest))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.Rows(sqlstore.SelOldestEnded, sqlstore.FindTime(&f.OldestEnded)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.SelOldestEvent, sqlstore.FindTime(&f.OldestEvent)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.SelOverdue, sqlstore.FindExpired(f, now), sqlstore.Num(now)); err != nil {
		return err
	}
	return sqlstore.CheckOwners(c, f)
}

// ahead compares the latest stored times with the server's.
func (r *Diagnosis) ahead(now job.Micros) func(sqlstore.Row) error {
	return func(row sqlstore.Row) error {
		latest := job.Micros(max(row.Int(0), row.Int(1)))
		if r.StoredAhead = max(0, latest.Sub(now)); r.StoredAhead > storedApart {
			r.problem("redrive's time is %s ahead of the server's clock, which must have been wrong at some time: delays, leases and "+
				"schedules go by it for as long again: see that the server's clock is right, and do what docs/postgres.md says "+
				"under \"A clock that was ahead\"", r.StoredAhead.Round(time.Second))
		}
		return nil
	}
}

// deadLetters compares what counts dead letters and batches with what there are.
func (r *Diagnosis) deadLetters(c *pg.Session) error {
	if err := c.Rows(sqlstore.RecountGroups, sqlstore.CompareGroups(&r.Findings)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.RecountDead, sqlstore.CompareDead(&r.Findings)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.RecountBatches, sqlstore.CompareBatches(&r.Findings)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.SelDeaths, sqlstore.FindDeaths(&r.Findings)); err != nil {
		return err
	}
	if err := c.Rows(sqlstore.SelClasses, sqlstore.FindClasses(&r.Findings)); err != nil {
		return err
	}
	return sqlstore.FindNotices(c, &r.Findings)
}

package docs_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/sqlite"
)

// This file has the code of library.md about an own *sql.DB on the file of the jobs.

// openTables opens the file of the jobs a second time, for the tables of the shop.
func openTables(path string) (*sql.DB, error) {
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"synchronous(FULL)", "busy_timeout(5000)"}}
	db, err := sql.Open("sqlite", "file:"+path+"?"+options.Encode()) // the driver that store/sqlite registers
	if err != nil {
		return nil, err
	}
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, mailed INTEGER NOT NULL)")
	return db, err
}

func takeOrder(ctx context.Context, db *sql.DB, client *redrive.Client, number int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (number, mailed) VALUES (?, 0)", number); err != nil {
		return err
	}
	if _, err := client.EnqueueTx(ctx, sqlite.Tx(tx), SendInvoice.New(Invoice{Number: number, To: "ann"}, nil)); err != nil {
		return err
	}
	return tx.Commit()
}

func TestLibrary_AnOwnDatabaseOnTheFileOfTheJobs(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"store", "tables"} { // either may make the file
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			ctx, path := t.Context(), filepath.Join(t.TempDir(), "app.db")
			var db *sql.DB
			var err error
			if first == "tables" {
				if db, err = openTables(path); err != nil {
					t.Fatal(err)
				}
			}
			st, err := sqlite.Open(ctx, path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if first == "store" {
				if db, err = openTables(path); err != nil {
					t.Fatal(err)
				}
			}
			defer func() {
				if err := errors.Join(db.Close(), st.Close()); err != nil {
					t.Error(err)
				}
			}()
			client, err := redrive.New(st, nil)
			if err != nil {
				t.Fatal(err)
			}
			redrive.Handle(client, SendInvoice, func(ctx context.Context, j *redrive.Job[Invoice]) error {
				_, err := db.ExecContext(ctx, "UPDATE orders SET mailed = 1 WHERE number = ?", j.Args.Number)
				return err
			}, nil)
			if err := takeOrder(ctx, db, client, 7); err != nil {
				t.Fatal(err)
			}
			if err := takeOrder(ctx, db, client, 7); err == nil {
				t.Error("the same order was taken twice, want an error")
			}
			if err := client.RunUntilEmpty(ctx); err != nil {
				t.Fatal(err)
			}
			mailed := 0
			if err := db.QueryRowContext(ctx, "SELECT count(*) FROM orders WHERE mailed = 1").Scan(&mailed); err != nil {
				t.Fatal(err)
			}
			page, err := client.List(ctx, redrive.JobFilter{})
			if err != nil || len(page.Jobs) != 1 || page.Jobs[0].State != job.Completed || mailed != 1 {
				t.Errorf("got %d jobs, error %v, %d mailed orders; want one completed job and one mailed order", len(page.Jobs), err, mailed)
			}
		})
	}
}

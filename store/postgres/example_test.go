package postgres_test

import (
	"context"
	"database/sql"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of database/sql

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store/postgres"
)

// Confirm is a kind whose argument is the number of an order.
const Confirm = redrive.Kind[int]("confirm")

// check stands for what a program does about an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// All processes of a service open the same database; the first one makes the tables.
func ExampleOpen() {
	ctx := context.Background()
	st, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), &postgres.Options{Schema: "jobs", MaxConns: 20})
	check(err)
	defer func() { check(st.Close()) }()
	client, err := redrive.New(st, nil)
	check(err)
	redrive.Handle(client, Confirm, func(ctx context.Context, j *redrive.Job[int]) error {
		return nil // a letter to the person who has placed the order j.Args
	}, nil)
	_, err = client.Enqueue(ctx, Confirm.New(17, nil)) // durable when it returns
	check(err)
	check(client.RunUntilEmpty(ctx)) // a service calls Run
}

// start returns a client as ExampleOpen makes one, for the examples of transactions.
func start(ctx context.Context) (client *redrive.Client, stop func()) {
	st, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), nil)
	check(err)
	client, err = redrive.New(st, nil)
	check(err)
	return client, func() { check(st.Close()) }
}

// An order and the job that confirms it: both, or none.
func ExampleTx() {
	ctx := context.Background()
	client, stop := start(ctx)
	defer stop()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	check(err)
	defer func() { check(conn.Close(ctx)) }()

	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO orders (id, customer) VALUES (17, 'ann')`); err != nil {
			return err
		}
		_, err := client.EnqueueTx(ctx, postgres.Tx(tx), Confirm.New(17, nil))
		return err
	})
	check(err)
}

// A handler whose effect and whose completion happen together: exactly once, however
// often the job runs.
func ExampleTx_complete() {
	ctx := context.Background()
	client, stop := start(ctx)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	check(err)
	defer pool.Close()
	redrive.Handle(client, Confirm, func(ctx context.Context, j *redrive.Job[int]) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE orders SET confirmed = confirmed + 1 WHERE id = $1`, j.Args); err != nil {
				return err
			}
			return j.CompleteTx(ctx, postgres.Tx(tx)) // refused when the run has lost its lease
		})
	}, nil)
	check(client.RunUntilIdle(ctx))
}

// The same with database/sql, whatever the driver.
func ExampleSQLTx() {
	ctx := context.Background()
	client, stop := start(ctx)
	defer stop()
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	check(err)
	defer func() { check(db.Close()) }()

	tx, err := db.BeginTx(ctx, nil)
	check(err)
	defer tx.Rollback() // does nothing after the commit
	_, err = tx.ExecContext(ctx, `INSERT INTO orders (id, customer) VALUES (18, 'ben')`)
	check(err)
	_, err = client.EnqueueTx(ctx, postgres.SQLTx(tx), Confirm.New(18, nil))
	check(err)
	check(tx.Commit())
}

// A handler completes its job in its own transaction of database/sql.
func ExampleSQLTx_complete() {
	ctx := context.Background()
	client, stop := start(ctx)
	defer stop()
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	check(err)
	defer func() { check(db.Close()) }()
	redrive.Handle(client, Confirm, func(ctx context.Context, j *redrive.Job[int]) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, `UPDATE orders SET confirmed = confirmed + 1 WHERE id = $1`, j.Args); err != nil {
			return err
		}
		if err := j.CompleteTx(ctx, postgres.SQLTx(tx)); err != nil {
			return err
		}
		return tx.Commit()
	}, nil)
	check(client.RunUntilIdle(ctx))
}

package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// The kinds of jobs.
const (
	copyKind   = redrive.Kind[copyArgs]("watermark")
	detectKind = redrive.Kind[detectArgs]("detect") // the policy does not retry it, so it is aside in its batch
)

// copyArgs are the arguments of a job that makes the copy for one recipient. Input is a path, so that
// the policy can tell a missing input from another missing file.
type copyArgs struct {
	Token     string `json:"token"`
	Recipient string `json:"recipient"`
	Input     string `json:"input"`
	Clip      bool   `json:"clip"`
	Visible   bool   `json:"visible"`
	Invisible bool   `json:"invisible"`
}

// detectArgs are the arguments of a job that finds out whose copy a file is.
type detectArgs struct {
	Detection string `json:"detection"`
	Input     string `json:"input"`
}

// settings are what both processes of the example share.
type settings struct {
	dir     string // the absolute path of the folder with the database and the files
	ffmpeg  string
	ffprobe string
	stamp   string // the program that writes the invisible mark
	clock   redrive.Clock
	workers int
	smtp    int // the port of the mail server on this machine; 0 means that this process sends no notices
	log     *slog.Logger
}

// app is the example: its tables, and redrive on the same file.
type app struct {
	settings
	st     *sqlite.Store
	db     *sql.DB // reads only; everything is written by st.Tx
	client *redrive.Client
	limit  int // the retries that the policy allows
	box    box
	base   string // the address of the pages, for links in mails
}

//go:embed schema.sql
var schema string

//go:embed stamp.sh
var stampScript []byte

// lease is the time without a sign of life after which a run counts as stuck.
const lease = 30 * time.Minute

// open opens the database and makes its tables.
func open(ctx context.Context, s settings) (a *app, err error) {
	for _, folder := range []string{"assets", "copies", "detect"} {
		if err := os.MkdirAll(filepath.Join(s.dir, folder), 0o755); err != nil {
			return nil, err
		}
	}
	if s.stamp == "" {
		s.stamp = filepath.Join(s.dir, "stamp")
		if err := writeNew(s.stamp, stampScript, 0o755); err != nil {
			return nil, err
		}
	}
	preset, err := policyfile.Preset("watermark")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, "watermark.db")
	st, err := sqlite.Open(ctx, path, &sqlite.Options{Clock: s.clock.Now})
	if err != nil {
		return nil, err
	}
	a = &app{settings: s, st: st, box: box{changed: make(chan struct{}, 1)}}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	a.limit = preset.Policy.Resolve(string(copyKind), failure.UnknownError).Retries
	a.client, err = redrive.New(st, &redrive.Config{
		Policy: preset.Policy, Clock: s.clock, Lease: lease, Logger: s.log, TempDir: filepath.Join(s.dir, "tmp"),
		Queues: map[string]redrive.Queue{redrive.DefaultQueue: {Workers: s.workers}},
	})
	if err != nil {
		return nil, err
	}
	err = st.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make the tables: %w", err)
	}
	options := url.Values{"_pragma": {"synchronous(FULL)", "busy_timeout(5000)"}}
	a.db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+options.Encode())
	return a, err
}

// writeNew writes a file unless it is there.
func writeNew(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Close closes the database.
func (a *app) Close() (err error) {
	if a.db != nil {
		err = a.db.Close()
	}
	return errors.Join(err, a.st.Close())
}

// remove removes a file that may not be there.
func (s *settings) remove(path string) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("a file could not be removed", "error", err)
	}
}

// list returns the rows of a query.
func list[T any](ctx context.Context, tx *sql.Tx, fields func(*T) []any, query string, args ...any) (all []T, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one T
		if err := rows.Scan(fields(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// now returns the time in microseconds, as the tables have it.
func (a *app) now() int64 { return a.clock.Now().UnixMicro() }

// tx runs a function in a transaction that writes rows of the example and of redrive.
func (a *app) tx(ctx context.Context, do func(context.Context, *sql.Tx, store.Tx) error) error {
	return a.st.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return do(ctx, tx, sqlite.Tx(tx)) })
}

// read runs a function in a transaction that reads everything at one moment and holds up no writer.
func (a *app) read(ctx context.Context, do func(*sql.Tx, store.Tx) error) error {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return do(tx, sqlite.Tx(tx))
}

package sqlite

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

// role says what a connection is used for.
type role uint8

const (
	roleWriter role = iota
	roleReader
)

// busyTimeout is how long SQLite waits for a lock. Writers of this package first wait at the
// turnstile, a lock file. So the timeout matters only for other programs, which do not use the
// turnstile.
const busyTimeout = 10 * time.Second

// These are the settings of every connection. After the store has set the journal mode and the
// synchronous mode, it reads both again to check them. With synchronous=FULL a commit survives a
// power loss; NORMAL could lose acknowledged jobs. The page cache needs twice its nominal size in
// memory, because a page with its header is rounded up to 8 KiB. In measurements with many waiting
// jobs, a store with larger caches was not faster.
const (
	writerPragmas = `PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY;
		PRAGMA cache_size=-32768; PRAGMA journal_size_limit=67108864; PRAGMA wal_autocheckpoint=4000;`
	readerPragmas = `PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA query_only=ON;
		PRAGMA cache_size=-4096; PRAGMA wal_autocheckpoint=0;`
	synchronousFull = 2
)

func connect(path string, r role) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenWAL)
	if err != nil {
		return nil, asStoreError(err)
	}
	conn.SetBusyTimeout(busyTimeout)
	pragmas := writerPragmas
	if r == roleReader {
		pragmas = readerPragmas
	}
	if err := configure(conn, pragmas); err != nil {
		_ = conn.Close()
		return nil, asStoreError(err)
	}
	return conn, nil
}

// connectReadOnly opens a database only for reading. It does not change anything, not even
// the journal mode.
func connectReadOnly(path string) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return nil, asStoreError(err)
	}
	conn.SetBusyTimeout(busyTimeout)
	for _, pragma := range []string{`PRAGMA synchronous=FULL`, `PRAGMA temp_store=MEMORY`} {
		if _, err := one(conn, pragma); err != nil {
			_ = conn.Close()
			return nil, asStoreError(err)
		}
	}
	return conn, nil
}

func configure(conn *sqlite.Conn, pragmas string) error {
	for pragma := range strings.SplitSeq(pragmas, ";") {
		if strings.TrimSpace(pragma) == "" {
			continue
		}
		if _, err := one(conn, pragma); err != nil {
			return err
		}
	}
	mode, err := one(conn, `PRAGMA journal_mode`)
	if err != nil {
		return err
	}
	sync, err := one(conn, `PRAGMA synchronous`)
	if err != nil {
		return err
	}
	if mode != "wal" || sync != fmt.Sprint(synchronousFull) {
		return fmt.Errorf("\"journal_mode\" is %s and \"synchronous\" is %s: to lose no jobs, the store needs the values wal and %d",
			mode, sync, synchronousFull)
	}
	return nil
}

// one runs a statement and returns the first column of the last row of its result, as text.
func one(conn *sqlite.Conn, text string) (value string, err error) {
	stmt, _, err := conn.PrepareTransient(text)
	if err != nil {
		return "", err
	}
	defer func() {
		if ferr := stmt.Finalize(); err == nil {
			err = ferr
		}
	}()
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return value, err
		}
		value = stmt.ColumnText(0)
	}
}

// openDB opens the same file with database/sql, for migrations and for callers' transactions.
// These transactions begin with BEGIN IMMEDIATE, and their commits are as durable as the
// commits of the store.
func openDB(path string) (*sql.DB, error) {
	return openSQL(path, url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {
		busyPragma, "journal_mode(wal)", "synchronous(full)", "wal_autocheckpoint(0)", "journal_size_limit(67108864)",
	}})
}

// openDBReadOnly opens the file with database/sql, only for reading.
func openDBReadOnly(path string) (*sql.DB, error) {
	return openSQL(path, url.Values{"mode": {"ro"}, "_pragma": {busyPragma}})
}

var busyPragma = fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())

func openSQL(path string, q url.Values) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(1)
	return db, nil
}

//go:build linux

package torture

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"

	"github.com/redrive/redrive/internal/testing/crashpoint"
)

// site is a kind of database, with the faults that the rounds cause in it.
type site interface {
	// begin prepares the database of a round. The method again removes the database, so that the
	// round can start a second time.
	begin(r *round)
	again(r *round) error
	// meanwhile causes faults of the database during a cycle.
	meanwhile(r *round, c int, over <-chan struct{})
	// integrity returns the problems that the database finds in the stored data.
	integrity(ctx context.Context, r *round) []string
	end(r *round)
	// comesTo reports whether processes on this kind of database reach a crash point.
	comesTo(p crashpoint.Point) bool
	workerFaults() []fault // additional faults of workers on this database
	wanted() []string      // faults that a run of fullCycles or more must have
}

// files is the site of SQLite databases, a file in the directory of each round.
type files struct{}

// smallDiskEvery is the interval of the rounds with a small file system: every second round has one.
const smallDiskEvery = 2

func (files) begin(r *round) {
	r.database = filepath.Join(r.dir, "data", "jobs.db")
	r.direct = r.database
	if r.n%smallDiskEvery == 0 {
		r.small = r.mountSmall(filepath.Join(r.dir, "data"))
	}
}

func (files) again(r *round) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(r.database + suffix); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func (files) meanwhile(r *round, c int, over <-chan struct{}) {
	if r.small {
		r.fillDisk(c, over)
		return
	}
	r.lockFile(c, over)
}

// integrity runs SQLite's check of the file.
func (files) integrity(ctx context.Context, r *round) (complaints []string) {
	db, err := sql.Open("sqlite", r.database)
	if err != nil {
		return []string{err.Error()}
	}
	defer r.close(db)
	rows, err := db.QueryContext(ctx, `PRAGMA integrity_check`)
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = rows.Close() }() // no error check: rows.Err returns the error
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return append(complaints, err.Error())
		}
		if line != "ok" {
			complaints = append(complaints, line)
		}
	}
	if err := rows.Err(); err != nil {
		complaints = append(complaints, err.Error())
	}
	return complaints
}

func (files) end(r *round) {
	if r.small {
		r.unmount(filepath.Join(r.dir, "data"))
	}
}

// comesTo returns false for BeforeBatchEnd: on SQLite a batch ends in the transaction of its last member.
func (files) comesTo(p crashpoint.Point) bool { return p != crashpoint.BeforeBatchEnd }

func (files) workerFaults() []fault { return []fault{shortFile()} }

func (files) wanted() []string { return []string{lockedFault} }

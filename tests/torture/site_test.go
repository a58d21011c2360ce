//go:build linux

package torture

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"

	"github.com/redrive/redrive/internal/testing/crashpoint"
)

// site is where the databases of the rounds are, and what happens to them there.
type site interface {
	// begin makes the place for the database of a round, and again takes the database
	// away that is in it.
	begin(r *round)
	again(r *round) error
	// meanwhile is what happens to the database during a cycle, until that is over.
	meanwhile(r *round, c int, over <-chan struct{})
	// integrity returns the complaints about what is stored of those who store it.
	integrity(ctx context.Context, r *round) []string
	end(r *round)
	// comesTo reports whether a process with its database there comes to a point.
	comesTo(p crashpoint.Point) bool
	workerFaults() []fault // that workers meet only there
	wanted() []string      // faults that must have happened in fullCycles and more
}

// files are SQLite's, a file in the directory of each round.
type files struct{}

// smallDiskEvery is which rounds run on a small disk.
const smallDiskEvery = 4

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
	}
}

// integrity asks SQLite.
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
	defer func() { _ = rows.Close() }() // rows.Err tells
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

func (files) comesTo(crashpoint.Point) bool { return true }

func (files) workerFaults() []fault { return []fault{shortFile()} }

func (files) wanted() []string { return nil }

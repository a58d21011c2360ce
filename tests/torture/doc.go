// Package torture kills real processes. Workers and clients run on one SQLite
// file, or on one PostgreSQL server, and keep ledgers outside of it, while they are
// killed at random moments and at named points, stopped for longer than their
// leases, stopped gracefully, and deprived of disk space. The server is restarted,
// loses connections and disk space, and a proxy before it cuts around COMMIT. After
// some cycles the faults end, the rest of the work is done, and package check
// compares the ledgers with what is stored.
//
//	go test ./tests/torture -torture.cycles 200 -torture.postgres 200 -torture.seed 1 -timeout 60m -v
//
// A run that did too little work fails. A failed run keeps its databases and
// ledgers and says how to repeat it; the same seed draws the same faults, but
// processes run as they like, so a repeat is a new try and no replay.
package torture

// Package torture kills real processes. Workers and clients work on one SQLite file or one
// PostgreSQL server and keep ledgers outside of it. They are killed at random moments and at named
// points, paused for longer than their leases, stopped gracefully, and run out of disk space. The
// server is restarted and loses connections and disk space, and a proxy in front of it cuts
// connections around COMMIT. In some rounds PgBouncer is in front of it. Another test kills primaries and
// promotes their standbys. After some cycles the faults end, the remaining jobs are run, and package
// check compares the ledgers with the stored data.
//
//	go test ./tests/torture -torture.cycles 200 -torture.postgres 200 -torture.seed 1 -timeout 60m -v
//
// A run that did too little work fails. A failed run keeps its databases and ledgers and prints how
// to repeat it. The same seed draws the same faults, but the timing of the processes differs.
package torture

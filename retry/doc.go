// Package retry makes calls with retries. Retries of nested calls do not multiply. Do wraps any
// call that returns a value and an error; a Strategy says how often, how long and for which
// failures. It classifies failures as jobs do (package failure), waits by the same formulas
// (package backoff), and can be used without the rest of redrive.
//
// A call ends with its success, with a failure that waiting cannot repair, or at one of four
// limits: the number of sends, the elapsed time, the deadline of the context, and the
// deadline of the job. All limits are checked before the call sleeps. A wait is never
// shortened to fit a limit, and it is never shorter than the wait that the other side asks
// for.
//
// Inside a job the context carries a Ledger. Nested calls share it: only the outer call
// retries, and what was really sent is counted. A call that runs out of retries returns an
// error with the mark failure.HandOver: the job then waits in its queue instead of in memory.
package retry

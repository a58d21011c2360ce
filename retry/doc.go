// Package retry makes calls that retry without multiplying. Do wraps any call
// that returns a value and an error; a Strategy says how often, how long and for
// which failures. It judges failures as jobs do (package failure), waits by the
// same formulas (package backoff), and can be used without the rest of redrive.
//
// A call ends by its own success, by a failure that waiting does not mend, or by
// one of four limits, all looked at before it sleeps: its sends, its elapsed time,
// the deadline of the context and that of the job. No wait is shortened to fit a
// limit, and none is shorter than what the other side asks for.
//
// Inside a job the context carries a Ledger. Calls within calls share it: they do not
// retry twice, and what was really sent is counted. A call that runs out of retries
// there returns an error with the mark failure.HandOver: the job waits in its queue
// instead of in memory.
package retry

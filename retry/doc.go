// Package retry makes calls that retry without multiplying. Do wraps any call
// that returns a value and an error; a Strategy says how often, how long and for
// which failures. It classifies failures as jobs do (package failure), waits by the
// same formulas (package backoff), and can be used without the rest of redrive.
//
// A call ends when it succeeds, when a failure is not retried, or at one of four
// limits: its sends, its elapsed time, the deadline of the context and the deadline
// of the job. All are checked before it sleeps. A wait is not shortened to fit a
// limit, and it is at least as long as the other side asks for.
//
// Inside a job the context carries a Ledger. Nested calls share it: only one of them
// retries, and each request that is sent is counted. A call that runs out of retries
// there returns an error with the mark failure.HandOver: the job waits in its queue
// instead of in memory.
package retry

// Package crashpoint lets crash tests kill the process at named points of the code. Without the
// build tag "crashpoint" its functions are empty and cost nothing.
//
// With the tag, the environment variable REDRIVE_CRASHPOINT names the point at which the process is
// killed by SIGKILL, as by a power failure:
//
//	name          when the process reaches the point for the first time
//	name:3        when the process reaches the point for the third time
//	name:3:700us  700 µs after the third time; in a span: in the third or a later span, when it has lasted 700 µs
package crashpoint

// Variable is the environment variable with the crash point.
const Variable = "REDRIVE_CRASHPOINT"

// KilledPrefix stands before the name of the point in the last line that a killed process writes to
// its standard error.
const KilledPrefix = "crashpoint:"

// Point names a place in the code.
type Point string

// The points. A point Before…Commit is inside the transaction, when all rows are written but not
// committed. A point After…Commit is after the commit, before any goroutine gets the result of the
// commit. A span is a stretch of time in which the process may be killed.
const (
	BeforeEnqueueCommit Point = "before-enqueue-commit"
	AfterEnqueueCommit  Point = "after-enqueue-commit"
	BeforeClaimCommit   Point = "before-claim-commit"
	AfterClaimCommit    Point = "after-claim-commit"
	HandlerStart        Point = "handler-start"
	MidHandler          Point = "mid-handler" // test programs call Hit with this point in their handlers
	BeforeSettleCommit  Point = "before-settle-commit"
	AfterSettleCommit   Point = "after-settle-commit"
	InRescue            Point = "in-rescue"    // inside the transaction of a rescue, after each rescued run
	InCommit            Point = "in-commit"    // a span: during the COMMIT, with its write to the log and its fsync
	InMigration         Point = "in-migration" // a span: during all migrations
	AfterMigration      Point = "after-migration"
	InCheckpoint        Point = "in-checkpoint" // a span: while the close of the database copies the log into the database file

	InBatchStep    Point = "in-batch-step"    // inside the transaction of a step that publishes, cancels or discards members of a batch
	BeforeBatchEnd Point = "before-batch-end" // a batch may have ended, and its outcome is not written
	InOutcome      Point = "in-outcome"       // inside the transaction that ends a batch, when its outcome and its callbacks are written
	InNotice       Point = "in-notice"        // inside the transaction of a cause, when its notices are written
	AfterSend      Point = "after-send"       // test programs call Hit with this point when they have sent a notice

	AfterRequestRow   Point = "after-request-row"   // a keyed request for many jobs is stored, and its jobs are not
	AfterKeyedEnqueue Point = "after-keyed-enqueue" // its jobs are stored, and its answer is not
	InAnswer          Point = "in-answer"           // an HTTP server has sent half of an answer, or of a frame of a stream

	StreamAfterPoll   Point = "stream-after-poll"   // records are read, and their jobs are not stored
	StreamAfterTake   Point = "stream-after-take"   // the jobs and the positions are stored, and the offsets are not reported
	StreamAfterCommit Point = "stream-after-commit" // the offsets are reported
	SinkAfterWrite    Point = "sink-after-write"    // records are written to a topic, and the cursor is not moved
	BackAfterWrite    Point = "back-after-write"    // tasks that are handed back are written to a topic, and their jobs are not cancelled
)

// Points lists the points of all processes, in the order in which a process reaches them.
var Points = [...]Point{
	InMigration, AfterMigration, BeforeEnqueueCommit, AfterEnqueueCommit, BeforeClaimCommit, AfterClaimCommit,
	HandlerStart, MidHandler, BeforeSettleCommit, AfterSettleCommit, InRescue, InCommit, InCheckpoint,
}

// BatchPoints lists the points of processes that have batches and notices.
var BatchPoints = [...]Point{InBatchStep, BeforeBatchEnd, InOutcome, InNotice, AfterSend}

// ServerPoints lists the points that only an HTTP server reaches.
var ServerPoints = [...]Point{AfterRequestRow, AfterKeyedEnqueue, InAnswer}

// StreamPoints lists the points that only a process that reads a stream reaches.
var StreamPoints = [...]Point{StreamAfterPoll, StreamAfterTake, StreamAfterCommit, SinkAfterWrite, BackAfterWrite}

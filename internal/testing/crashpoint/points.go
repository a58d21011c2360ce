// Package crashpoint lets crash tests kill the process at named points of the
// code. In a program built without the tag "crashpoint" its functions are empty
// and vanish when they are inlined.
//
// With the tag the environment variable REDRIVE_CRASHPOINT names where the
// process dies, by SIGKILL, as if its power had been cut:
//
//	name          the first time it comes to the point
//	name:3        the third time
//	name:3:700us  700 µs after that; of spans, in the first from the third on that lasts so long
package crashpoint

// Variable is the environment variable that names the point.
const Variable = "REDRIVE_CRASHPOINT"

// LastWords stand before the name of the point in the last line that a process
// writes to its standard error.
const LastWords = "crashpoint:"

// Point names a place in the code.
type Point string

// The points. A commit's points are inside its transaction, when all is written
// and nothing is committed, and after it, when nobody has been told.
const (
	BeforeEnqueueCommit Point = "before-enqueue-commit"
	AfterEnqueueCommit  Point = "after-enqueue-commit"
	BeforeClaimCommit   Point = "before-claim-commit"
	AfterClaimCommit    Point = "after-claim-commit"
	HandlerStart        Point = "handler-start"
	MidHandler          Point = "mid-handler" // hit by test programs in their handlers
	BeforeSettleCommit  Point = "before-settle-commit"
	AfterSettleCommit   Point = "after-settle-commit"
	InRescue            Point = "in-rescue"    // one run is rescued, the transaction goes on
	InCommit            Point = "in-commit"    // a span: the COMMIT, with its write to the log and its flush
	InMigration         Point = "in-migration" // a span: all migrations
	AfterMigration      Point = "after-migration"
	InCheckpoint        Point = "in-checkpoint" // a span: the close, which moves the log into the database
)

// Points lists every point, in the order of a job's way.
var Points = [...]Point{
	InMigration, AfterMigration, BeforeEnqueueCommit, AfterEnqueueCommit, BeforeClaimCommit, AfterClaimCommit,
	HandlerStart, MidHandler, BeforeSettleCommit, AfterSettleCommit, InRescue, InCommit, InCheckpoint,
}

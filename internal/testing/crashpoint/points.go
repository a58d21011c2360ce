// Package crashpoint lets crash tests kill the process at named points of the code. Without the
// build tag "crashpoint" its functions are empty and cost nothing.
//
// With the tag, the environment variable REDRIVE_CRASHPOINT names the point at which the process is
// killed by SIGKILL, as by a power failure:
//
//	name          at the first pass of the point
//	name:3        at the third pass
//	name:3:700us  700 µs after the third pass; for a span: in the third or a later pass that lasts so long
package crashpoint

// Variable is the environment variable with the crash point.
const Variable = "REDRIVE_CRASHPOINT"

// KilledPrefix stands before the name of the point in the last line that a killed process writes to
// its standard error.
const KilledPrefix = "crashpoint:"

// Point names a place in the code.
type Point string

// The points. Those of a commit are inside its transaction, when everything is written and nothing
// committed, and after the commit, before any goroutine learns its result.
const (
	BeforeEnqueueCommit Point = "before-enqueue-commit"
	AfterEnqueueCommit  Point = "after-enqueue-commit"
	BeforeClaimCommit   Point = "before-claim-commit"
	AfterClaimCommit    Point = "after-claim-commit"
	HandlerStart        Point = "handler-start"
	MidHandler          Point = "mid-handler" // hit by test programs in their handlers
	BeforeSettleCommit  Point = "before-settle-commit"
	AfterSettleCommit   Point = "after-settle-commit"
	InRescue            Point = "in-rescue"    // one run is rescued, and the transaction goes on
	InCommit            Point = "in-commit"    // a span: the COMMIT with its write to the log and its fsync
	InMigration         Point = "in-migration" // a span: all migrations
	AfterMigration      Point = "after-migration"
	InCheckpoint        Point = "in-checkpoint" // a span: the close, which copies the log into the database
)

// Points lists every point, in the order in which a job passes them.
var Points = [...]Point{
	InMigration, AfterMigration, BeforeEnqueueCommit, AfterEnqueueCommit, BeforeClaimCommit, AfterClaimCommit,
	HandlerStart, MidHandler, BeforeSettleCommit, AfterSettleCommit, InRescue, InCommit, InCheckpoint,
}

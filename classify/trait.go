package classify

// trait is what is special about a rule.
type trait uint32

const (
	identifiers  trait = 1 << iota // its phrases are also names written as one word
	codesOnly                      // counts only where a code is given
	ingForm                        // counts only with "ing": processing_error is a code of payments, ProcessError a type of many programs
	perMoment                      // speaks of seconds or minutes
	perPeriod                      // speaks of days, months or plans
	history                        // what is before it, up to the last of its kind, is over
	past                           // what follows in the same sentence is over
	cleanup                        // what follows is about tidying up
	readStatus                     // the held number is an HTTP or SMTP status
	readReply                      // … the reply of a mail server, if an enhanced code follows
	readExit                       // … the exit code of a process
	readErrno                      // … an errno
	readWinError                   // … an error of Windows
	readSQLState                   // the held value is a SQLSTATE
	readMySQL                      // the held number is an error of MySQL
	readCurl                       // … of curl
	readHint                       // a wait that the other side asks for
	readName                       // its id is the code
	readLimit                      // a limit and what was asked for
)

// traitNames are the traits by their names in rules files.
var traitNames = map[string]trait{
	"identifiers": identifiers, "codes-only": codesOnly, "ing-form": ingForm, "per-moment": perMoment, "per-period": perPeriod,
	"history": history, "past": past, "cleanup": cleanup, "read-status": readStatus, "read-reply": readReply,
	"read-exit": readExit, "read-errno": readErrno, "read-win-error": readWinError, "read-sqlstate": readSQLState,
	"read-mysql": readMySQL, "read-curl": readCurl, "read-hint": readHint, "read-limit": readLimit,
}

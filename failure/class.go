// Package failure turns errors into evidence: what happened, as plain values
// that can be stored, sent, decided on and explained. Marks let a handler say
// more than an error text can. The package is pure: no clock, no I/O, and it
// never fails, whatever error it is given.
package failure

// Class is the named bucket that a policy decides by. Classes are stored as
// text; users may add their own by WithClass.
type Class string

// The classes that need no classification.
const (
	UnknownError   Class = "UnknownError"   // nothing says what it was
	AttemptTimeout Class = "AttemptTimeout" // the time limit of the kind ended the run
	Crash          Class = "Crash"          // the run ended without a word
	Panic          Class = "Panic"          // the handler panicked
	Cancelled      Class = "Cancelled"      // the handler or a person cancelled the job
)

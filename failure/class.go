// Package failure turns errors into evidence. In comes an error, with the marks by which a handler says more than a text
// can; out goes Evidence: what happened, as plain values that can be stored, sent, classified (package classify) and
// explained. The built-in classes with their texts are here, too, and Sanitize and Fingerprint, the public faces of
// the rooms for redaction and fingerprints. It must never fail or panic, whatever error it is given, never read a clock or do I/O, and never decide what
// follows from a failure.
package failure

// Class is the named bucket that a policy decides by. Classes are stored as
// text; users may add their own by WithClass and in policy files.
type Class string

// The retriable classes.
const (
	NetworkTimeout        Class = "NetworkTimeout"        // a connection timed out or broke off
	RateLimitExceeded     Class = "RateLimitExceeded"     // too many requests in a short time
	TemporaryServiceError Class = "TemporaryServiceError" // a service is down or overloaded
	ResourceConstraint    Class = "ResourceConstraint"    // memory, disk, handles or workers ran out
)

// The classes that no later attempt mends: somebody has to change something.
const (
	InvalidInput          Class = "InvalidInput"          // the input is broken, private, deleted or of a wrong kind
	AuthenticationFailure Class = "AuthenticationFailure" // the credentials or a certificate are missing, wrong or expired
	PaymentRequired       Class = "PaymentRequired"       // money or credit is missing
	ContentViolation      Class = "ContentViolation"      // refused for what the content is
	InputExceedsLimits    Class = "InputExceedsLimits"    // the input is longer or larger than allowed
	QuotaExceeded         Class = "QuotaExceeded"         // the quota of a day, a month or a plan is used up
	ValidationError       Class = "ValidationError"       // the request, or one of its values, is not valid
	PermissionError       Class = "PermissionError"       // known, but not allowed to do this
	NotFound              Class = "NotFound"              // what the job names does not exist
	BusinessLogicError    Class = "BusinessLogicError"    // well formed, and refused by the rules of the application
)

// The class of what nothing matches, the one of defects, which blames no input, and
// those that need no classification.
const (
	UnknownError   Class = "UnknownError"   // nothing says what it was
	ProgramError   Class = "ProgramError"   // a defect of the program: a wrong type, a missing key, an index out of range, an assertion
	AttemptTimeout Class = "AttemptTimeout" // the time limit of the kind ended the run
	Crash          Class = "Crash"          // the run ended without an answer
	Panic          Class = "Panic"          // the handler panicked
	Cancelled      Class = "Cancelled"      // the handler or a person cancelled the job
	Internal       Class = "Internal"       // the outcome of the run could not be written
)

// Verdict is what the evidence says about another attempt. The words are stored
// and append-only.
type Verdict string

// The verdicts.
const (
	VerdictRetry          Verdict = "retry"           // waiting may mend it
	VerdictThrottle       Verdict = "throttle"        // waiting mends it: too much was asked in a short time
	VerdictQuota          Verdict = "quota"           // used up until a date or until somebody pays
	VerdictDependencyDown Verdict = "dependency_down" // an outside service is down for all jobs alike
	VerdictPermanent      Verdict = "permanent"       // no later attempt mends it
	VerdictCancelled      Verdict = "cancelled"       // no failure: it was wanted
	VerdictCrash          Verdict = "crash"           // the worker died; the job may be why
	VerdictUnknown        Verdict = "unknown"         // nothing says whether waiting mends it
)

// Retriable reports whether another attempt can make sense without anybody
// changing anything. It is true for VerdictUnknown, where the policy decides, and
// false for a verdict that does not exist.
func (v Verdict) Retriable() bool {
	switch v {
	case VerdictRetry, VerdictThrottle, VerdictDependencyDown, VerdictCrash, VerdictUnknown:
		return true
	case VerdictQuota, VerdictPermanent, VerdictCancelled:
	}
	return false
}

package failure

// classTable has the built-in classes. Texts for users stay true whatever the
// policy does: those of a job that is retried say no more than that another
// attempt is scheduled; those of a dead one promise nothing, name no number of
// attempts, and tell of no notification.
var classTable = [...]ClassInfo{
	{
		Class: NetworkTimeout, Verdict: VerdictRetry,
		Summary:  "a connection timed out, was reset or broke off",
		Retrying: "A connection that this job needs timed out or broke off. Another attempt is scheduled.",
		Dead:     "A connection that this job needs timed out or broke off, and the job has stopped. Starting it again later may help.",
		Operator: "Nobody at first. If it goes on: the operators of the network or of the service that did not answer.",
	},
	{
		Class: RateLimitExceeded, Verdict: VerdictThrottle,
		Summary:  "another service refuses requests because too many came in a short time",
		Retrying: "A service that this job uses is limiting our requests. Another attempt is scheduled.",
		Dead:     "A service that this job uses limited our requests, and the job has stopped. Starting it again later may help.",
		Operator: "Nobody at first. If it goes on: run fewer of these jobs at a time, or ask the provider for a higher limit.",
	},
	{
		Class: TemporaryServiceError, Verdict: VerdictRetry,
		Summary:  "another service is down, overloaded or being restarted",
		Retrying: "A service that this job uses is not available right now. Another attempt is scheduled.",
		Dead:     "A service that this job uses was not available, and the job has stopped. Starting it again later may help.",
		Operator: "Nobody at first. If it goes on: the operators of the service; look at its status page.",
	},
	{
		Class: ResourceConstraint, Verdict: VerdictRetry,
		Summary:  "memory, disk space, file handles, connections or workers ran out",
		Retrying: "There was not enough memory or disk space for this job. Another attempt is scheduled.",
		Dead:     "There was not enough memory or disk space for this job, and it has stopped.",
		Operator: "The operators of the workers: look at memory, disk space and limits, or run fewer jobs at a time.",
	},
	{
		Class: InvalidInput, Verdict: VerdictPermanent,
		Summary:  "the input is broken, private, deleted, unreachable or of a wrong kind",
		Retrying: "The input of this job cannot be read. Another attempt is scheduled.",
		Dead:     "The input of this job cannot be read. Please check that it exists, is complete and can be opened.",
		Operator: "The person who supplied the input.",
	},
	{
		Class: AuthenticationFailure, Verdict: VerdictPermanent,
		Summary:  "the credentials or a certificate are missing, wrong or expired",
		Retrying: "This job could not get secure access to a service that it uses. Another attempt is scheduled.",
		Dead:     "This job could not get secure access to a service that it uses, and it has stopped.",
		Operator: "The person who keeps the credentials or the certificates: renew or correct them, then retry the job.",
	},
	{
		Class: PaymentRequired, Verdict: VerdictPermanent,
		Summary:  "money or credit is missing",
		Retrying: "A service that this job uses asks for payment first. Another attempt is scheduled.",
		Dead:     "A service that this job uses asks for payment first, and the job has stopped.",
		Operator: "The person who pays the provider: look at the balance and the payment method, then retry the job.",
	},
	{
		Class: ContentViolation, Verdict: VerdictPermanent,
		Summary:  "refused for what the content is: terms of service, copyright, safety rules",
		Retrying: "The content was refused because it is not allowed. Another attempt is scheduled.",
		Dead:     "The content was refused because it is not allowed.",
		Operator: "The person who supplied the input; the rules are those of the service that refused it.",
	},
	{
		Class: InputExceedsLimits, Verdict: VerdictPermanent,
		Summary:  "the input is longer or larger than allowed",
		Retrying: "The input is longer or larger than what is accepted. Another attempt is scheduled.",
		Dead:     "The input is longer or larger than what is accepted. Please use a smaller one, or split it.",
		Operator: "The person who supplied the input; or raise the limit where it is set.",
	},
	{
		Class: QuotaExceeded, Verdict: VerdictQuota,
		Summary:  "the quota of a day, a month or a plan is used up",
		Retrying: "The quota of a service that this job uses is used up. Another attempt is scheduled.",
		Dead:     "The quota of a service that this job uses is used up, and the job has stopped.",
		Operator: "The owner of the account: wait for the day on which the quota is renewed, or buy a larger one; then retry the job.",
	},
	{
		Class: ValidationError, Verdict: VerdictPermanent,
		Summary:  "the request, or one of its values, is not valid",
		Retrying: "Some of the values of this job are not valid. Another attempt is scheduled.",
		Dead:     "Some of the values of this job are not valid. Please check them.",
		Operator: "The person who made the job, or the developers, if a program made it.",
	},
	{
		Class: PermissionError, Verdict: VerdictPermanent,
		Summary:  "known, but not allowed to do this",
		Retrying: "This job is not allowed to do something that it needs. Another attempt is scheduled.",
		Dead:     "This job is not allowed to do something that it needs, and it has stopped.",
		Operator: "The person who grants rights to the account, the file or the bucket that is named; then retry the job.",
	},
	{
		Class: NotFound, Verdict: VerdictPermanent,
		Summary:  "what the job names does not exist",
		Retrying: "Something that this job needs was not found. Another attempt is scheduled.",
		Dead:     "Something that this job needs was not found. Please check that it still exists.",
		Operator: "The person who made the job, or who removed what it names.",
	},
	{
		Class: BusinessLogicError, Verdict: VerdictPermanent,
		Summary:  "well formed, and refused by the rules of an application",
		Retrying: "This job was refused by the rules of an application. Another attempt is scheduled.",
		Dead:     "This job was refused by the rules of an application, and it has stopped.",
		Operator: "The owner of the data that the job works on.",
	},
	{
		Class: UnknownError, Verdict: VerdictUnknown,
		Summary:  "nothing says what it was",
		Retrying: "Something unexpected happened. Another attempt is scheduled.",
		Dead:     "Something unexpected happened, and the job has stopped.",
		Operator: "The developers: read the message; if it will come again, give it a class in the policy file.",
	},
	{
		Class: ProgramError, Verdict: VerdictUnknown,
		Summary:  "a defect of the program: a wrong type, a missing key, an index out of range, an assertion",
		Retrying: "Something unexpected happened. Another attempt is scheduled.",
		Dead:     "Something unexpected happened, and the job has stopped.",
		Operator: "The developers of the program: the message says what went wrong in it.",
	},
	{
		Class: AttemptTimeout, Verdict: VerdictRetry,
		Summary:  "the time limit of the kind ended the run",
		Retrying: "An attempt took longer than allowed. Another attempt is scheduled.",
		Dead:     "The job took longer than allowed and has stopped.",
		Operator: "The person who sets the time limit of the kind: raise it, or find out what makes these jobs slow.",
	},
	{
		Class: Crash, Verdict: VerdictCrash,
		Summary:  "the run ended without an answer: its worker died or hung",
		Retrying: "The job was interrupted. Another attempt is scheduled.",
		Dead:     "The job was interrupted and has stopped.",
		Operator: "The operators of the workers: look for processes that were killed, for memory first.",
	},
	{
		Class: Panic, Verdict: VerdictUnknown,
		Summary:  "the handler panicked: a defect of the program",
		Retrying: "Something unexpected happened. Another attempt is scheduled.",
		Dead:     "Something unexpected happened, and the job has stopped.",
		Operator: "The developers of the handler: the stack says where.",
	},
	{
		Class: Cancelled, Verdict: VerdictCancelled,
		Summary:  "the handler or a person cancelled the job",
		Retrying: "The last attempt was cancelled. Another attempt is scheduled.",
		Dead:     "The job was cancelled.",
		Operator: "Nobody: it was wanted.",
	},
	{
		Class: Internal, Verdict: VerdictPermanent,
		Summary:  "the outcome of the run could not be written",
		Retrying: "The result of the last attempt could not be saved. Another attempt is scheduled.",
		Dead:     "The result of the job could not be saved, and the job has stopped.",
		Operator: "The developers of the handler: the message names what was too large or illegal.",
	},
}

// ClassInfo is what is known of a built-in class: data that policy files may
// replace, text by text.
type ClassInfo struct {
	Class    Class
	Verdict  Verdict
	Summary  string // what it is, in one line, for the documentation
	Retrying string // for users, while another attempt is scheduled
	Dead     string // for users, when there will be no further attempt
	// Notified is added to Dead if people who operate the system were notified of the death. It is
	// empty for every built-in class.
	Notified string
	Operator string // for operators: who has to act, and how
}

// Classes returns the built-in classes: the retriable ones, those that are not,
// and those that the engine gives. The caller may change the slice.
func Classes() []ClassInfo {
	all := classTable
	return all[:]
}

// InfoOf returns what is known of a built-in class.
func InfoOf(c Class) (ClassInfo, bool) {
	for i := range classTable {
		if classTable[i].Class == c {
			return classTable[i], true
		}
	}
	return ClassInfo{}, false
}

// Verdict returns what a class says about another attempt. It is VerdictUnknown for a class that is not built in.
func (c Class) Verdict() Verdict {
	for i := range classTable {
		if classTable[i].Class == c {
			return classTable[i].Verdict
		}
	}
	return VerdictUnknown
}

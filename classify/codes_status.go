package classify

import "github.com/redrive/redrive/failure"

// status is what an HTTP status says by itself.
type status struct {
	from, to int
	class    failure.Class
	weight   int
}

// statuses are looked through in order. What is above or below them says
// nothing about a failure.
var statuses = []status{
	{301, 308, failure.InvalidInput, wFaint},
	{401, 401, failure.AuthenticationFailure, wStatus},
	{402, 402, failure.PaymentRequired, wStatus + 6},
	{403, 403, failure.AuthenticationFailure, wGeneric + 4},
	{404, 404, failure.NotFound, wGeneric + 4},
	{405, 406, failure.ValidationError, wGeneric + 4},
	{407, 407, failure.AuthenticationFailure, wStatus},
	{408, 408, failure.NetworkTimeout, wStatus},
	{409, 409, failure.BusinessLogicError, wGeneric + 2},
	{410, 410, failure.NotFound, wStatus},
	{411, 412, failure.ValidationError, wGeneric + 4},
	{413, 414, failure.InputExceedsLimits, wStatus + 4},
	{415, 417, failure.InvalidInput, wGeneric + 4},
	{418, 418, failure.InvalidInput, wWeak},
	{419, 419, failure.AuthenticationFailure, wGeneric},
	{420, 420, failure.RateLimitExceeded, wGeneric + 4},
	{421, 421, failure.TemporaryServiceError, wGeneric},
	{422, 422, failure.BusinessLogicError, wGeneric + 2},
	{423, 423, failure.TemporaryServiceError, wGeneric + 2},
	{424, 424, failure.TemporaryServiceError, wGeneric},
	{425, 425, failure.TemporaryServiceError, wStatus},
	{426, 426, failure.ValidationError, wGeneric + 4},
	{428, 428, failure.ValidationError, wGeneric + 4},
	{429, 429, failure.RateLimitExceeded, wStatus + 2},
	{430, 430, failure.RateLimitExceeded, wGeneric},
	{431, 431, failure.InputExceedsLimits, wStatus},
	{440, 440, failure.AuthenticationFailure, wGeneric},
	{444, 444, failure.NetworkTimeout, wStatus},
	{449, 449, failure.TemporaryServiceError, wStatus},
	{451, 451, failure.ContentViolation, wStatus},
	{460, 460, failure.NetworkTimeout, wStatus},
	{494, 494, failure.InputExceedsLimits, wStatus},
	{495, 497, failure.AuthenticationFailure, wStatus},
	{498, 498, failure.AuthenticationFailure, wStatus},
	{499, 499, failure.NetworkTimeout, wStatus},
	{400, 499, failure.InvalidInput, wGeneric + 2},
	{501, 501, failure.ValidationError, wStatus},
	{504, 504, failure.NetworkTimeout, wStatus + 1},
	{505, 506, failure.ValidationError, wStatus},
	{507, 507, failure.ResourceConstraint, wStatus},
	{508, 508, failure.BusinessLogicError, wStatus},
	{509, 509, failure.QuotaExceeded, wStatus},
	{510, 510, failure.ValidationError, wStatus},
	{511, 511, failure.AuthenticationFailure, wStatus},
	{522, 522, failure.NetworkTimeout, wStatus},
	{524, 524, failure.NetworkTimeout, wStatus},
	{526, 526, failure.AuthenticationFailure, wStatus},
	{598, 599, failure.NetworkTimeout, wStatus},
	{502, 503, failure.TemporaryServiceError, wStatus + 1},
	{500, 500, failure.TemporaryServiceError, wGeneric - 6},
	{500, 599, failure.TemporaryServiceError, wStatus},
}

// mailStatuses are the replies of mail servers, and of FTP. Their first digit
// says whether waiting helps, whatever the words are.
var mailStatuses = []status{
	{452, 452, failure.ResourceConstraint, wStrong + 7},
	{500, 504, failure.ValidationError, wSaid + 5},
	{523, 523, failure.InputExceedsLimits, wSaid + 5},
	{530, 530, failure.AuthenticationFailure, wSaid + 5},
	{534, 538, failure.AuthenticationFailure, wStatus},
	{550, 551, failure.InvalidInput, wSaid + 5},
	{552, 552, failure.InputExceedsLimits, wSaid + 5},
	{553, 553, failure.InvalidInput, wSaid + 5},
	{400, 499, failure.TemporaryServiceError, wStrong + 7},
	{500, 599, failure.PermissionError, wSaid + 5},
}

// statusOf looks a status up.
func statusOf(table []status, code int) (status, bool) {
	for _, s := range table {
		if s.from <= code && code <= s.to {
			return s, true
		}
	}
	return status{}, false
}

// named is a code that has a name, and what it says.
type named struct {
	name   string
	class  failure.Class
	weight int
}

// grpcCodes are the statuses of gRPC, by their numbers.
var grpcCodes = [...]named{
	{"OK", "", 0},
	{"CANCELLED", failure.NetworkTimeout, wWeak},
	{"UNKNOWN", failure.UnknownError, wNothing + 6},
	{"INVALID_ARGUMENT", failure.InvalidInput, wGeneric + 4},
	{"DEADLINE_EXCEEDED", failure.NetworkTimeout, wStatus},
	{"NOT_FOUND", failure.NotFound, wSaid},
	{"ALREADY_EXISTS", failure.BusinessLogicError, wStatus},
	{"PERMISSION_DENIED", failure.PermissionError, wGeneric + 6},
	{"RESOURCE_EXHAUSTED", failure.RateLimitExceeded, wSaid},
	{"FAILED_PRECONDITION", failure.BusinessLogicError, wGeneric + 6},
	{"ABORTED", failure.TemporaryServiceError, wSaid},
	{"OUT_OF_RANGE", failure.InvalidInput, wSaid},
	{"UNIMPLEMENTED", failure.ValidationError, wStatus},
	{"INTERNAL", failure.TemporaryServiceError, wGeneric - 6},
	{"UNAVAILABLE", failure.TemporaryServiceError, wStatus},
	{"DATA_LOSS", failure.UnknownError, wGeneric},
	{"UNAUTHENTICATED", failure.AuthenticationFailure, wStatus + 4},
}

// exits are the exit codes that mean something by themselves.
var exits = []status{
	{0, 0, failure.UnknownError, wNothing},
	{64, 65, failure.InvalidInput, wGeneric},
	{66, 66, failure.NotFound, wGeneric},
	{67, 68, failure.InvalidInput, wWeak},
	{69, 69, failure.TemporaryServiceError, wFaint},
	{70, 70, failure.UnknownError, wFaint},
	{71, 71, failure.ResourceConstraint, wFaint},
	{73, 73, failure.PermissionError, wFaint},
	{74, 74, failure.TemporaryServiceError, wFaint},
	{75, 75, failure.TemporaryServiceError, wGeneric},
	{76, 76, failure.TemporaryServiceError, wFaint},
	{77, 77, failure.PermissionError, wGeneric},
	{78, 78, failure.ValidationError, wGeneric},
	{124, 124, failure.NetworkTimeout, wGeneric + 2},
	{126, 126, failure.PermissionError, wGeneric},
	{127, 127, failure.NotFound, wGeneric + 2},
	{130, 130, failure.TemporaryServiceError, wGeneric},
	{132, 132, failure.UnknownError, wGeneric},
	{134, 136, failure.UnknownError, wGeneric},
	{137, 137, failure.ResourceConstraint, wStatus},
	{138, 139, failure.UnknownError, wGeneric},
	{141, 141, failure.NetworkTimeout, wGeneric},
	{143, 143, failure.TemporaryServiceError, wGeneric},
	{152, 152, failure.NetworkTimeout, wGeneric},
	{153, 153, failure.ResourceConstraint, wGeneric},
	{1, 255, failure.UnknownError, wNothing + 2},
}

// signalClasses are the signals that end processes.
var signalClasses = map[string]named{
	"SIGKILL": {"signal.SIGKILL", failure.ResourceConstraint, wStrong},
	"SIGTERM": {"signal.SIGTERM", failure.TemporaryServiceError, wGeneric},
	"SIGINT":  {"signal.SIGINT", failure.TemporaryServiceError, wGeneric},
	"SIGHUP":  {"signal.SIGHUP", failure.TemporaryServiceError, wGeneric},
	"SIGQUIT": {"signal.SIGQUIT", failure.TemporaryServiceError, wWeak},
	"SIGPIPE": {"signal.SIGPIPE", failure.NetworkTimeout, wGeneric},
	"SIGALRM": {"signal.SIGALRM", failure.NetworkTimeout, wGeneric},
	"SIGXCPU": {"signal.SIGXCPU", failure.NetworkTimeout, wGeneric},
	"SIGXFSZ": {"signal.SIGXFSZ", failure.InputExceedsLimits, wGeneric},
	"SIGSEGV": {"signal.SIGSEGV", failure.UnknownError, wGeneric},
	"SIGABRT": {"signal.SIGABRT", failure.UnknownError, wGeneric},
	"SIGBUS":  {"signal.SIGBUS", failure.UnknownError, wGeneric},
	"SIGILL":  {"signal.SIGILL", failure.UnknownError, wGeneric},
	"SIGFPE":  {"signal.SIGFPE", failure.UnknownError, wGeneric},
	"SIGTRAP": {"signal.SIGTRAP", failure.UnknownError, wGeneric},
}

// curlExits are the exit codes of curl and of libcurl.
var curlExits = []status{
	{1, 1, failure.InvalidInput, wStatus},
	{2, 2, failure.ResourceConstraint, wGeneric},
	{3, 4, failure.InvalidInput, wStatus},
	{5, 6, failure.TemporaryServiceError, wStrong},
	{7, 7, failure.TemporaryServiceError, wStrong},
	{8, 8, failure.TemporaryServiceError, wGeneric},
	{9, 9, failure.PermissionError, wStatus},
	{10, 12, failure.NetworkTimeout, wGeneric},
	{13, 16, failure.TemporaryServiceError, wGeneric},
	{17, 17, failure.InvalidInput, wGeneric},
	{18, 18, failure.NetworkTimeout, wStatus},
	{19, 19, failure.NotFound, wGeneric},
	{21, 22, failure.InvalidInput, wWeak},
	{23, 23, failure.ResourceConstraint, wGeneric},
	{25, 25, failure.PermissionError, wGeneric},
	{26, 26, failure.NotFound, wGeneric},
	{27, 27, failure.ResourceConstraint, wStatus},
	{28, 28, failure.NetworkTimeout, wStrong},
	{33, 34, failure.InvalidInput, wGeneric},
	{35, 35, failure.NetworkTimeout, wGeneric},
	{36, 37, failure.NotFound, wGeneric},
	{38, 38, failure.AuthenticationFailure, wGeneric},
	{43, 43, failure.ValidationError, wGeneric},
	{45, 45, failure.ResourceConstraint, wGeneric},
	{47, 47, failure.InvalidInput, wStatus},
	{48, 49, failure.ValidationError, wGeneric},
	{51, 51, failure.AuthenticationFailure, wStrong},
	{52, 52, failure.NetworkTimeout, wStrong},
	{53, 54, failure.ValidationError, wGeneric},
	{55, 56, failure.NetworkTimeout, wGeneric - 4},
	{58, 58, failure.AuthenticationFailure, wStatus},
	{59, 59, failure.InvalidInput, wStatus},
	{60, 60, failure.AuthenticationFailure, wStrong},
	{61, 61, failure.InvalidInput, wGeneric},
	{63, 63, failure.InputExceedsLimits, wStrong},
	{64, 64, failure.InvalidInput, wGeneric},
	{66, 66, failure.ValidationError, wGeneric},
	{67, 67, failure.AuthenticationFailure, wStrong},
	{70, 70, failure.ResourceConstraint, wStatus},
	{77, 77, failure.AuthenticationFailure, wStatus},
	{78, 78, failure.NotFound, wStatus},
	{79, 79, failure.NetworkTimeout, wGeneric},
	{80, 80, failure.NetworkTimeout, wGeneric},
	{83, 83, failure.AuthenticationFailure, wStatus},
	{89, 89, failure.ResourceConstraint, wStatus},
	{90, 91, failure.AuthenticationFailure, wStatus},
	{92, 92, failure.NetworkTimeout, wStatus},
	{94, 94, failure.AuthenticationFailure, wStatus},
	{95, 96, failure.NetworkTimeout, wStatus},
	{97, 97, failure.TemporaryServiceError, wStatus},
	{1, 99, failure.NetworkTimeout, wFaint},
}

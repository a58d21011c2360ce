package failure

// status is what an HTTP status says by itself (F6).
type status struct {
	from, to int
	class    Class
	weight   int
}

// statuses are looked through in order. What is above or below them says
// nothing about a failure.
var statuses = []status{
	{301, 308, InvalidInput, wFaint},
	{401, 401, AuthenticationFailure, wStatus},
	{402, 402, PaymentRequired, wStatus + 6},
	{403, 403, AuthenticationFailure, wGeneric + 4},
	{404, 404, NotFound, wGeneric + 4},
	{405, 406, ValidationError, wGeneric + 4},
	{407, 407, AuthenticationFailure, wStatus},
	{408, 408, NetworkTimeout, wStatus},
	{409, 409, BusinessLogicError, wGeneric + 2},
	{410, 410, NotFound, wStatus},
	{411, 412, ValidationError, wGeneric + 4},
	{413, 414, InputExceedsLimits, wStatus + 4},
	{415, 417, InvalidInput, wGeneric + 4},
	{418, 418, InvalidInput, wWeak},
	{419, 419, AuthenticationFailure, wGeneric},
	{420, 420, RateLimitExceeded, wGeneric + 4},
	{421, 421, TemporaryServiceError, wGeneric},
	{422, 422, BusinessLogicError, wGeneric + 2},
	{423, 423, TemporaryServiceError, wGeneric + 2},
	{424, 424, TemporaryServiceError, wGeneric},
	{425, 425, TemporaryServiceError, wStatus},
	{426, 426, ValidationError, wGeneric + 4},
	{428, 428, ValidationError, wGeneric + 4},
	{429, 429, RateLimitExceeded, wStatus + 2},
	{430, 430, RateLimitExceeded, wGeneric},
	{431, 431, InputExceedsLimits, wStatus},
	{440, 440, AuthenticationFailure, wGeneric},
	{444, 444, NetworkTimeout, wStatus},
	{449, 449, TemporaryServiceError, wStatus},
	{451, 451, ContentViolation, wStatus},
	{460, 460, NetworkTimeout, wStatus},
	{494, 494, InputExceedsLimits, wStatus},
	{495, 497, AuthenticationFailure, wStatus},
	{498, 498, AuthenticationFailure, wStatus},
	{499, 499, NetworkTimeout, wStatus},
	{400, 499, InvalidInput, wGeneric + 2},
	{501, 501, ValidationError, wStatus},
	{504, 504, NetworkTimeout, wStatus + 1},
	{505, 506, ValidationError, wStatus},
	{507, 507, ResourceConstraint, wStatus},
	{508, 508, BusinessLogicError, wStatus},
	{509, 509, QuotaExceeded, wStatus},
	{510, 510, ValidationError, wStatus},
	{511, 511, AuthenticationFailure, wStatus},
	{522, 522, NetworkTimeout, wStatus},
	{524, 524, NetworkTimeout, wStatus},
	{526, 526, AuthenticationFailure, wStatus},
	{598, 599, NetworkTimeout, wStatus},
	{502, 503, TemporaryServiceError, wStatus + 1},
	{500, 500, TemporaryServiceError, wGeneric - 6},
	{500, 599, TemporaryServiceError, wStatus},
}

// mailStatuses are the replies of mail servers, and of FTP. Their first digit
// says whether waiting helps, whatever the words are.
var mailStatuses = []status{
	{452, 452, ResourceConstraint, wStrong + 7},
	{500, 504, ValidationError, wSaid + 5},
	{523, 523, InputExceedsLimits, wSaid + 5},
	{530, 530, AuthenticationFailure, wSaid + 5},
	{534, 538, AuthenticationFailure, wStatus},
	{550, 551, InvalidInput, wSaid + 5},
	{552, 552, InputExceedsLimits, wSaid + 5},
	{553, 553, InvalidInput, wSaid + 5},
	{400, 499, TemporaryServiceError, wStrong + 7},
	{500, 599, PermissionError, wSaid + 5},
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
	class  Class
	weight int
}

// grpcCodes are the statuses of gRPC, by their numbers.
var grpcCodes = [...]named{
	{"OK", "", 0},
	{"CANCELLED", NetworkTimeout, wWeak},
	{"UNKNOWN", UnknownError, wNothing + 6},
	{"INVALID_ARGUMENT", InvalidInput, wGeneric + 4},
	{"DEADLINE_EXCEEDED", NetworkTimeout, wStatus},
	{"NOT_FOUND", NotFound, wSaid},
	{"ALREADY_EXISTS", BusinessLogicError, wStatus},
	{"PERMISSION_DENIED", PermissionError, wGeneric + 6},
	{"RESOURCE_EXHAUSTED", RateLimitExceeded, wSaid},
	{"FAILED_PRECONDITION", BusinessLogicError, wGeneric + 6},
	{"ABORTED", TemporaryServiceError, wSaid},
	{"OUT_OF_RANGE", InvalidInput, wSaid},
	{"UNIMPLEMENTED", ValidationError, wStatus},
	{"INTERNAL", TemporaryServiceError, wGeneric - 6},
	{"UNAVAILABLE", TemporaryServiceError, wStatus},
	{"DATA_LOSS", UnknownError, wGeneric},
	{"UNAUTHENTICATED", AuthenticationFailure, wStatus + 4},
}

// exits are the exit codes that mean something by themselves.
var exits = []status{
	{0, 0, UnknownError, wNothing},
	{64, 65, InvalidInput, wGeneric},
	{66, 66, NotFound, wGeneric},
	{67, 68, InvalidInput, wWeak},
	{69, 69, TemporaryServiceError, wFaint},
	{70, 70, UnknownError, wFaint},
	{71, 71, ResourceConstraint, wFaint},
	{73, 73, PermissionError, wFaint},
	{74, 74, TemporaryServiceError, wFaint},
	{75, 75, TemporaryServiceError, wGeneric},
	{76, 76, TemporaryServiceError, wFaint},
	{77, 77, PermissionError, wGeneric},
	{78, 78, ValidationError, wGeneric},
	{124, 124, NetworkTimeout, wGeneric + 2},
	{126, 126, PermissionError, wGeneric},
	{127, 127, NotFound, wGeneric + 2},
	{130, 130, TemporaryServiceError, wGeneric},
	{132, 132, UnknownError, wGeneric},
	{134, 136, UnknownError, wGeneric},
	{137, 137, ResourceConstraint, wStatus},
	{138, 139, UnknownError, wGeneric},
	{141, 141, NetworkTimeout, wGeneric},
	{143, 143, TemporaryServiceError, wGeneric},
	{152, 152, NetworkTimeout, wGeneric},
	{153, 153, ResourceConstraint, wGeneric},
	{1, 255, UnknownError, wNothing + 2},
}

// signalClasses are the signals that end processes.
var signalClasses = map[string]named{
	"SIGKILL": {"signal.SIGKILL", ResourceConstraint, wStrong},
	"SIGTERM": {"signal.SIGTERM", TemporaryServiceError, wGeneric},
	"SIGINT":  {"signal.SIGINT", TemporaryServiceError, wGeneric},
	"SIGHUP":  {"signal.SIGHUP", TemporaryServiceError, wGeneric},
	"SIGQUIT": {"signal.SIGQUIT", TemporaryServiceError, wWeak},
	"SIGPIPE": {"signal.SIGPIPE", NetworkTimeout, wGeneric},
	"SIGALRM": {"signal.SIGALRM", NetworkTimeout, wGeneric},
	"SIGXCPU": {"signal.SIGXCPU", NetworkTimeout, wGeneric},
	"SIGXFSZ": {"signal.SIGXFSZ", InputExceedsLimits, wGeneric},
	"SIGSEGV": {"signal.SIGSEGV", UnknownError, wGeneric},
	"SIGABRT": {"signal.SIGABRT", UnknownError, wGeneric},
	"SIGBUS":  {"signal.SIGBUS", UnknownError, wGeneric},
	"SIGILL":  {"signal.SIGILL", UnknownError, wGeneric},
	"SIGFPE":  {"signal.SIGFPE", UnknownError, wGeneric},
	"SIGTRAP": {"signal.SIGTRAP", UnknownError, wGeneric},
}

// curlExits are the exit codes of curl and of libcurl.
var curlExits = []status{
	{1, 1, InvalidInput, wStatus},
	{2, 2, ResourceConstraint, wGeneric},
	{3, 4, InvalidInput, wStatus},
	{5, 6, TemporaryServiceError, wStrong},
	{7, 7, TemporaryServiceError, wStrong},
	{8, 8, TemporaryServiceError, wGeneric},
	{9, 9, PermissionError, wStatus},
	{10, 12, NetworkTimeout, wGeneric},
	{13, 16, TemporaryServiceError, wGeneric},
	{17, 17, InvalidInput, wGeneric},
	{18, 18, NetworkTimeout, wStatus},
	{19, 19, NotFound, wGeneric},
	{21, 22, InvalidInput, wWeak},
	{23, 23, ResourceConstraint, wGeneric},
	{25, 25, PermissionError, wGeneric},
	{26, 26, NotFound, wGeneric},
	{27, 27, ResourceConstraint, wStatus},
	{28, 28, NetworkTimeout, wStrong},
	{33, 34, InvalidInput, wGeneric},
	{35, 35, NetworkTimeout, wGeneric},
	{36, 37, NotFound, wGeneric},
	{38, 38, AuthenticationFailure, wGeneric},
	{43, 43, ValidationError, wGeneric},
	{45, 45, ResourceConstraint, wGeneric},
	{47, 47, InvalidInput, wStatus},
	{48, 49, ValidationError, wGeneric},
	{51, 51, AuthenticationFailure, wStrong},
	{52, 52, NetworkTimeout, wStrong},
	{53, 54, ValidationError, wGeneric},
	{55, 56, NetworkTimeout, wGeneric - 4},
	{58, 58, AuthenticationFailure, wStatus},
	{59, 59, InvalidInput, wStatus},
	{60, 60, AuthenticationFailure, wStrong},
	{61, 61, InvalidInput, wGeneric},
	{63, 63, InputExceedsLimits, wStrong},
	{64, 64, InvalidInput, wGeneric},
	{66, 66, ValidationError, wGeneric},
	{67, 67, AuthenticationFailure, wStrong},
	{70, 70, ResourceConstraint, wStatus},
	{77, 77, AuthenticationFailure, wStatus},
	{78, 78, NotFound, wStatus},
	{79, 79, NetworkTimeout, wGeneric},
	{80, 80, NetworkTimeout, wGeneric},
	{83, 83, AuthenticationFailure, wStatus},
	{89, 89, ResourceConstraint, wStatus},
	{90, 91, AuthenticationFailure, wStatus},
	{92, 92, NetworkTimeout, wStatus},
	{94, 94, AuthenticationFailure, wStatus},
	{95, 96, NetworkTimeout, wStatus},
	{97, 97, TemporaryServiceError, wStatus},
	{1, 99, NetworkTimeout, wFaint},
}

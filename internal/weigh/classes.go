package weigh

// Classes are the classes that are weighed. Their order is that of the weights.
var Classes = [...]string{
	"NetworkTimeout", "RateLimitExceeded", "TemporaryServiceError", "ResourceConstraint", "UnknownError", "ProgramError",
	"InvalidInput", "AuthenticationFailure", "PaymentRequired", "ContentViolation", "InputExceedsLimits", "QuotaExceeded",
	"ValidationError", "PermissionError", "NotFound", "BusinessLogicError",
}

// Unknown is the class of what nothing is known about.
const Unknown = 4

// Retriable says of each class whether another attempt may succeed.
var Retriable = [len(Classes)]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true}

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

// ScaleOne is a scale of one.
const ScaleOne = 256

// Scale returns how much each of a number of words counts: the more there are, the less each.
func Scale(words int) int {
	if words < len(scales) {
		return int(scales[words])
	}
	return int(scales[len(scales)-1])
}

// scales are 256 × sqrt(16 / (16 + n)).
var scales = func() (s [FeaturesMax + 1]int16) {
	for n := range s {
		want := 256 * 256 * 16 / (16 + n)
		r := 0
		for (r+1)*(r+1) <= want {
			r++
		}
		s[n] = int16(r)
	}
	return s
}()

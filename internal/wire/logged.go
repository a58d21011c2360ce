package wire

// LoggedFailures is what a policy would decide about the failures in a log.
type LoggedFailures struct {
	Lines    int            `json:"lines"`
	Failures int            `json:"failures"`
	Policy   string         `json:"policy"` // name of the policy
	Hash     string         `json:"hash"`
	Groups   []*LoggedGroup `json:"groups"`
}

// LoggedGroup is a group of equal failures of a log.
type LoggedGroup struct {
	Count    int    `json:"count"`
	Line     int    `json:"line"` // number of the first line with such a failure
	Kind     string `json:"kind,omitempty"`
	Class    string `json:"class"`
	Rule     string `json:"rule,omitempty"`
	Decision string `json:"decision"` // about the first attempt
	Message  string `json:"message"`
}

package wire

import "github.com/redrive/redrive/failure"

// SuggestedRule is a rule in the output of "policy suggest".
type SuggestedRule struct {
	Class  failure.Class `json:"class"`
	Match  string        `json:"match,omitempty"`
	Code   string        `json:"code,omitempty"`
	Kinds  []string      `json:"kinds"`
	Labels int           `json:"labels"`
	Also   []AlsoHit     `json:"also"`
}

// AlsoHit is a cause of another class that a rule would have hit.
type AlsoHit struct {
	Group  string        `json:"group"`
	Class  failure.Class `json:"class"`
	Deaths int64         `json:"deaths"`
}

package policy

import (
	"time"

	"github.com/redrive/redrive/failure"
)

// Rank is how strong the evidence is that a class was found by.
type Rank uint8

// RankMark is the rank of what the handler says itself.
const RankMark Rank = 7

// Classification is the class that a failure was put into, and why.
type Classification struct {
	Class   failure.Class
	Verdict Verdict
	Rank    Rank
	Rule    string        // stable id of the deciding rule
	Saw     string        // what it read
	Code    string        // machine code; the handler's own wins
	Hint    time.Duration // a wait that the other side asks for in the text; 0 none
	Beat    [3]Beaten     // the strongest evidence that lost
}

// Beaten is evidence that lost.
type Beaten struct {
	Rule  string
	Class failure.Class
	Rank  Rank
	Saw   string
}

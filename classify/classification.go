package classify

import (
	"time"

	"github.com/redrive/redrive/failure"
)

// Rank is the kind of evidence that a classification rests on. Of two pieces the
// more specific decides, which is mostly, but not always, the one of the higher
// rank: "insufficient quota" in a text says more than a status of 429.
type Rank uint8

// The ranks, from nothing to what the handler says itself.
const (
	RankNone    Rank = iota // nothing matched
	RankPattern             // words of the message
	RankText                // a code or a status that stands in the text
	RankTyped               // a status, an exit code, a timeout of a typed error
	RankType                // the name of a type
	RankCode                // a code of the other side, or of the handler
	RankCause               // why the context ended
	RankMark                // a mark of the handler
)

var rankNames = [...]string{"none", "pattern", "text", "typed", "type", "code", "cause", "mark"}

// String returns the rank's name, which is stored and append-only.
func (r Rank) String() string {
	if int(r) < len(rankNames) {
		return rankNames[r]
	}
	return "none"
}

// Classification is what a classifier makes of evidence.
type Classification struct {
	Class     failure.Class
	Verdict   failure.Verdict
	Rank      Rank
	Rule      string        // stable id of the rule that decided, such as "http.429", "pg.40001", "rate.limit", "policy.phrases.2"
	Saw       string        // what it read: a value or a part of the text
	Code      string        // the handler's own code, or one derived: "http.503", "pg.40001", "errno.ECONNRESET"; "" is unknown
	Hint      time.Duration // a wait that the text asks for; 0 means no wait
	Line      string        // the line that decided, of what a process wrote; "" is another one's evidence
	Weighing  *Weighing     // what was weighed; nil where strong evidence decided
	Outranked [3]Outranked  // the strongest evidence that lost, the strongest first
}

// Outranked is evidence that lost against stronger evidence. The zero value is
// none.
type Outranked struct {
	Rule  string
	Class failure.Class
	Rank  Rank
	Saw   string
}

// Weighing is what was weighed, where no strong evidence decided.
type Weighing struct {
	Sure    int       // how likely the verdict is right, in percent: that another attempt changes nothing, or that it may
	For     [3]Weight // what weighed most for the class
	Against [3]Weight // what weighed most against it, for the next likely class of the other verdict
	Weights string    // the version of the weights: another version may decide differently
}

// Weight is what one feature of a text weighs.
type Weight struct {
	What   string // words of the text, a rule's id, or a class for which there is some rule
	Points int    // in hundredths of a nat: 69 makes it twice as likely
}

// Quoted applies a function to what is quoted from the text, as to remove secrets.
func (w *Weighing) Quoted(change func(string) string) {
	if w == nil {
		return
	}
	for _, all := range []*[3]Weight{&w.For, &w.Against} {
		for i := range all {
			if all[i].What != "" {
				all[i].What = change(all[i].What)
			}
		}
	}
}

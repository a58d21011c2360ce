package classify

import "github.com/redrive/redrive/internal/lines"

// Weights say how specific evidence is. Of several pieces the heaviest decides;
// what is written between them gives a little more or less.
const (
	wDecides  = 90          // refines every code and status: "insufficient quota" within a 429
	wCode     = 80          // names of codes that mean one thing: ECONNREFUSED, NoSuchKey
	wStrong   = 70          // what is said of one cause only: "connection refused"
	wStatus   = 60          // statuses that mean one thing: 429, 503
	wSaid     = 54          // plain statements: "permission denied", "must be positive"
	wGeneric  = 46          // statuses that mean many things: 400, 403, 404, 500
	wWeak     = 34          // words that mostly mean it: "invalid", "timeout"
	wFaint    = 24          // better than nothing: "memory", "rejected"
	wNothing  = 10          // says that nothing is known
	inCode    = 8           // more, where the text gives it as a code
	inQuote   = 24          // less, in the name of something
	inHistory = 30          // less, in what is over: an earlier attempt, a wrapper, a clean-up
	inNoise   = lines.Noise // less, in stack frames and settings
)

// weightNames are the weights by their names in rules files.
var weightNames = map[string]int{
	"decides": wDecides, "code": wCode, "strong": wStrong, "status": wStatus, "said": wSaid,
	"generic": wGeneric, "weak": wWeak, "faint": wFaint, "nothing": wNothing,
}

// weightMax is the largest weight that a rules file can give. Codes and types of a policy weigh more, see wOwnCode.
const weightMax = 99

package classify

import (
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/weigh"
)

// Names of rules that stand for a weighing.
const (
	ruleWeighed = "weighed"
	ruleUnsure  = "weighed.unsure"
)

const (
	decidesAlone = wStrong + 5 // the weight from which a rule for words decides without weighing
	statesFrom   = wStatus     // the weight from which a rule for words is a statement that only sure words overturn
	// Below cutPassing, the likelihood that another attempt changes nothing, the text is taken for a passing trouble. Work is
	// given up from cutFinal on if some rule was hit, and from cutAlone on if none was. Between them the class is UnknownError,
	// and the policy decides. A wrong "permanent" loses work, a wrong "retry" costs some attempts; docs/judgement.md has the
	// figures.
	cutPassing = weigh.One * 55 / 100
	cutFinal   = weigh.One * 60 / 100
	cutAlone   = weigh.One * 80 / 100
	// wordsNeeded is how many different words of a text must have weights where no rule says anything of weight. To give work
	// up without any rule it takes one more.
	wordsNeeded = 3
	// overturns is how likely it must be that another attempt may succeed to win against a rule that states the opposite, and
	// overturnsFinal how likely that it changes nothing: a wrong "permanent" loses work.
	overturns      = weigh.One * 70 / 100
	overturnsFinal = weigh.One * 85 / 100
	// renames is how likely a class must be to win against that of a rule that says more than a weak word, where the verdict is
	// the same.
	renames = weigh.One * 90 / 100
	// cutClass is how likely a class must be to be named.
	cutClass = weigh.One * 5 / 100
)

// weighs reports whether what was found is weak: words alone, and none that say it all.
func (r *reader) weighs(best int) bool {
	if r.c.model == nil || r.hint > 0 || r.e.RetryAfter > 0 || r.e.Message == "" && len(r.e.Stderr) == 0 && len(r.e.Stdout) == 0 {
		return false
	}
	for i := range r.hits {
		if h := &r.hits[i]; h.rank >= RankTyped && h.weight >= wWeak || h.weight > 0 && strings.HasPrefix(h.rule, ownPrefix) {
			return false
		}
	}
	if best < 0 || r.hits[best].weight < wWeak {
		return !onlyName(r.e.Message)
	}
	h := &r.hits[best]
	plain := h.class == failure.UnknownError && h.weight >= wSaid // an answer that nobody could read
	return h.weight < decidesAlone && h.rank < RankText && !plain
}

// onlyName reports whether a text is the name of an error type and nothing else: it says too little to be weighed.
func onlyName(text string) bool {
	text = strings.TrimRight(text, ": \n")
	return strings.IndexByte(text, ' ') < 0 && (strings.HasSuffix(text, "Error") || strings.HasSuffix(text, "Exception"))
}

// ownPrefix is how the ids of a policy's own rules begin.
const ownPrefix = "policy."

// weigh decides by all that the texts say, each a little.
func (r *reader) weigh(out *Classification, best int) {
	if r.bag == nil {
		r.bag, r.result = &weigh.Bag{}, &weigh.Result{}
	}
	r.collectWords(r.c.model)
	r.ruleFeatures(best)
	res := r.result
	r.bag.Weigh(res)
	if res.Known == 0 || res.Known < wordsNeeded && (best < 0 || r.hits[best].class == failure.UnknownError) {
		return // too little to weigh: the rules decide
	}
	class, rule := r.verdict(res, best >= 0 && r.hits[best].class != failure.UnknownError)
	if best >= 0 && failure.Class(weigh.Classes[class]) == r.hits[best].class && r.hits[best].weight >= statesFrom {
		return
	}
	if rule == ruleUnsure && best >= 0 && (r.hits[best].weight >= wSaid || !r.hits[best].final) {
		return // a plain statement, or a class that is tried again as well, is better than no answer
	}
	final := !weigh.Retriable[class]
	if best >= 0 && final && r.hits[best].final && r.hits[best].weight >= wGeneric && res.Share[class] < renames {
		return // the verdict is the same, and the rule knows the class
	}
	if best >= 0 && r.hits[best].weight >= statesFrom && !overturned(final, r.hits[best].final, res, class) {
		return
	}
	w := &Weighing{Weights: r.c.model.Version()}
	than := res.Of(final)
	w.Sure = 100 * res.Final / weigh.One
	if !final {
		w.Sure = 100 - w.Sure
	}
	saw := r.heaviest(w, class, than)
	out.Weighing = w
	if got := failure.Class(weigh.Classes[class]); out.Rank == RankNone || got != out.Class {
		if out.Rank > RankNone {
			copy(out.Outranked[1:], out.Outranked[:2])
			out.Outranked[0] = Outranked{Rule: out.Rule, Class: out.Class, Rank: out.Rank, Saw: out.Saw}
		}
		out.Class, out.Verdict, out.Rank, out.Rule, out.Saw, out.Line = got, got.Verdict(), RankPattern, rule, saw, ""
	}
}

// overturned reports whether words overturn a rule that makes a statement: they are sure of the other verdict, or surer
// still of another class.
func overturned(final, stated bool, res *weigh.Result, class int) bool {
	if final == stated {
		return final && res.Share[class] >= renames
	}
	return final && res.Final >= overturnsFinal || !final && weigh.One-res.Final >= overturns
}

// verdict returns the class that the weights are for, and by which rule.
func (r *reader) verdict(res *weigh.Result, hit bool) (class int, rule string) {
	final := res.Of(false)
	passing := res.Of(true)
	cut := cutFinal
	if !hit {
		cut = cutAlone
	}
	switch {
	case res.Final < cutPassing:
		if res.Share[passing] < cutClass {
			return weigh.Unknown, ruleUnsure
		}
		return passing, ruleWeighed
	case res.Final < cut:
		return weigh.Unknown, ruleUnsure
	case !r.statesFinal() && (res.Known < wordsNeeded || !hit && res.Known == wordsNeeded || res.Alone(r.bag, final, passing, r.severalFinal())):
		return weigh.Unknown, ruleUnsure // one weak word is not enough to give work up
	}
	return final, ruleWeighed
}

// statesFinal reports whether a rule that states something plainly is for a class that is not retried.
func (r *reader) statesFinal() bool {
	for i := range r.hits {
		if h := &r.hits[i]; h.final && h.weight >= wSaid {
			return true
		}
	}
	return false
}

// severalFinal reports whether rules for classes that are not retried were hit in more than one place.
func (r *reader) severalFinal() bool {
	first := -1
	for i := range r.hits {
		h := &r.hits[i]
		if !h.final || h.weight < wFaint {
			continue
		}
		if first >= 0 && h.saw != r.hits[first].saw {
			return true
		}
		if first < 0 {
			first = i
		}
	}
	return false
}

// heaviest writes down what weighed most, and returns the words that weighed most for the class.
func (r *reader) heaviest(w *Weighing, class, than int) (saw string) {
	most := 0
	for i := range r.bag.Features {
		f := &r.bag.Features[i]
		points := r.result.Points(r.bag, i, class, than)
		if f.To > 0 && points > most {
			most, saw = points, f.Name
		}
		switch points = points * 100 / weigh.Unit; {
		case points > 0:
			insert(&w.For, f.Name, points)
		case points < 0:
			insert(&w.Against, f.Name, -points)
		}
	}
	return saw
}

// insert puts a weight into the list of the heaviest. The list has no two entries for the same words.
func insert(top *[3]Weight, what string, points int) {
	at := len(top)
	for i := len(top) - 1; i >= 0 && top[i].Points < points; i-- {
		at = i
	}
	if at == len(top) {
		return
	}
	end := len(top) - 1
	for i := range top {
		if top[i].What == what {
			if i < at {
				return // the same words weigh more already
			}
			end = i
		}
	}
	copy(top[at+1:end+1], top[at:end])
	top[at] = Weight{what, points}
}

// collectWords puts the words of all texts into the bag, those that have weights in a model or, without one, all. The last text that was read is still there.
func (r *reader) collectWords(model *weigh.Model) {
	r.bag.Reset(model)
	single := len(r.e.Stderr)+len(r.e.Stdout)+len(r.e.Details) == 0
	if single && r.read != nil && r.matcher.Text == r.e.Message {
		r.addWords()
		return
	}
	hits, traits, hint, ordered := len(r.hits), r.traits, r.hint, r.ordered
	r.collect = true
	r.readTexts()
	r.collect = false
	r.hits, r.traits, r.hint, r.ordered = r.hits[:hits], traits, hint, ordered
}

// tiers are the weights at which one sort of rule ends and the next begins.
var tiers = [...]int{wDecides, wCode, wStrong, wStatus, wSaid, wGeneric, wWeak, wFaint, 1}

func tierOf(weight int) int {
	for i, w := range tiers {
		if weight >= w {
			return len(tiers) - i
		}
	}
	return 0
}

// ruleFeatures adds what the rules say. That no rule was hit is no evidence.
func (r *reader) ruleFeatures(best int) {
	if best < 0 {
		return
	}
	var next *hit
	for i := range r.hits {
		h := &r.hits[i]
		if h.weight <= 0 {
			continue
		}
		r.bag.Rule(h.rule)
		r.bag.Class(string(h.class), tierOf(h.weight))
		if h.class != r.hits[best].class && (next == nil || h.key > next.key) {
			next = h
		}
	}
	second := failure.Class("")
	if next != nil {
		second = next.class
	}
	h := &r.hits[best]
	r.bag.Best(string(h.class), string(second), tierOf(h.weight))
}

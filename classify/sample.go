package classify

import (
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/weigh"
)

// WithWeights returns the classifier of the built-in rules with other weights, in the form of the file that is
// embedded; without a file the rules alone decide. It is for the program that learns the weights. The error says that
// the file is damaged or of another version.
func WithWeights(file []byte) (*Classifier, error) {
	if len(file) == 0 {
		return withModel(nil), nil
	}
	m, err := weigh.Decode(file)
	if err != nil {
		return nil, err
	}
	return withModel(m), nil
}

func withModel(m *weigh.Model) *Classifier {
	c := Builtin()
	return &Classifier{builtin: c.builtin, direct: c.direct, model: m}
}

// Sample calls a function with each feature by which evidence is weighed: its hash, where it is in the text, its name,
// and its sort. It returns what the rules alone make of the evidence, and whether they decide without weighing. It is for
// the program that learns the weights.
func (c *Classifier) Sample(e *failure.Evidence, each func(hash uint64, from, to int32, name string, sort uint8)) (byRules Classification, strong bool) {
	model := c.model
	if model == nil {
		model = &weigh.Model{}
	}
	r := &reader{bag: &weigh.Bag{}}
	r.start(withModel(model), e, "")
	r.readCodes()
	r.readTyped()
	r.readTexts()
	r.overrule()
	best := r.best()
	r.classification(&byRules, best)
	strong = !r.weighs(best)
	r.mark(&byRules)
	r.collectWords()
	r.ruleFeatures(best)
	for _, f := range r.bag.Features {
		each(f.Hash, f.From, f.To, f.Name, f.Sort)
	}
	return byRules, strong
}

package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
	"github.com/redrive/redrive/internal/weigh"
	"github.com/redrive/redrive/tests/judgement/texts"
)

// sample is a text as its features, with what is right.
type sample struct {
	family   string
	part     texts.Part
	item     score.Item
	features []weigh.Feature
	right    []int // classes that are right
	verdict  int   // 1 retriable, 0 not, -1 ambiguous
	weight   float64
	byRules  classify.Classification
	strong   bool   // they decide without weighing
	tuned    bool   // the rules were written with it
	doubted  bool   // its label cannot be read in it: to learn from it would be wrong
	of       string // the text that this one is made of, with other words around
	made     bool   // by a program: it is learned from and never scored
}

// readSamples reads all labelled texts, and those that the rules were written with: from these only words are learned,
// because the rules are always right about them.
func readSamples(data, tuned string) ([]sample, error) {
	all, err := texts.Read(data)
	if err != nil {
		return nil, err
	}
	var samples []sample
	add := func(family string, part texts.Part, it score.Item, tuned bool) {
		s := newSample(family, part, it)
		s.tuned = tuned
		if len(s.right) > 0 {
			samples = append(samples, s)
		}
	}
	for _, t := range all {
		if part := texts.PartOf(t.Family); part != texts.Unread || os.Getenv("JUDGEMENT_UNREAD") != "" {
			add(t.Family, part, t.Item, false)
			if n := len(samples) - 1; t.Doubted && n >= 0 && samples[n].item.ID == t.ID {
				samples[n].doubted = true
			}
		}
	}
	if err := readTuned(tuned, add); err != nil {
		return nil, err
	}
	samples = append(samples, around(samples)...)
	for _, s := range neutral() {
		s.made = true
		samples = append(samples, s)
	}
	count := map[string]float64{}
	for i := range samples {
		count[samples[i].family]++
	}
	for i := range samples {
		s := &samples[i]
		s.weight = 1 / math.Sqrt(max(count[s.family], 10)/10)
		if s.of != "" {
			s.weight *= aroundWeight
		} else if s.made {
			s.weight *= neutralWeight
		}
		if s.verdict < 0 {
			s.weight /= 2
		}
	}
	return samples, nil
}

// newSample returns the features of a text.
func newSample(family string, part texts.Part, it score.Item) sample {
	s := sample{family: family, part: part, item: it, verdict: -1}
	s.byRules, s.strong = classify.Builtin().Sample(it.Evidence(), func(hash uint64, from, to int32, name string, sort uint8) {
		s.features = append(s.features, weigh.Feature{Hash: hash, From: from, To: to, Name: name, Sort: sort})
	})
	for k, class := range weigh.Classes {
		if it.Class == failure.Class(class) || slices.Contains(it.AlsoOK, failure.Class(class)) {
			s.right = append(s.right, k)
		}
	}
	if !it.Ambiguous {
		s.verdict = 0
		if it.Retriable {
			s.verdict = 1
		}
	}
	return s
}

func readTuned(dir string, add func(string, texts.Part, score.Item, bool)) error {
	for _, name := range []string{"general.txt", "says.txt", "bugs.txt"} {
		content, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			return err
		}
		topic := name
		for i, line := range strings.Split(string(content), "\n") {
			if strings.HasPrefix(line, "#") {
				topic = name + line
			}
			classes, text, ok := strings.Cut(line, " | ")
			if line == "" || line[0] == '#' {
				continue
			}
			if !ok {
				return fmt.Errorf("%s:%d: no \" | \"", name, i+1)
			}
			it := score.Item{Text: strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text)}
			for k, c := range strings.Fields(classes) {
				if strings.HasPrefix(c, "@") { // the rule that decides
					continue
				}
				if k == 0 {
					it.Class = failure.Class(c)
				} else {
					it.AlsoOK = append(it.AlsoOK, failure.Class(c))
				}
			}
			it.Retriable = it.Class.Verdict().Retriable()
			add("tuned:"+topic, texts.Learn, it, true)
		}
	}
	return nil
}

func foldOf(family string, folds int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte("fold of " + family))
	return int(h.Sum32() % uint32(folds))
}

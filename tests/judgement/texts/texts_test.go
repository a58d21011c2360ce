package texts_test

import (
	"slices"
	"testing"

	"github.com/redrive/redrive/tests/judgement/texts"
)

// A second reader saw 600 texts of the families that are learned from, and nothing but the texts. The log says how often
// the labels agree: no classifier can be expected to agree more often.
//
// part of: F8
func TestSecondReader(t *testing.T) {
	all, err := texts.ReadLabels("../data")
	if err != nil {
		t.Fatal(err)
	}
	labels, err := texts.ReadSecond("../data/second.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var scored, class, final, kept, retriable, lost int
	for i := range all {
		it := &all[i]
		second, ok := labels[it.ID]
		if !ok {
			continue
		}
		delete(labels, it.ID)
		if texts.PartOf(it.Family) == texts.Unread {
			t.Errorf("%s of %s is unread", it.ID, it.Family)
		}
		if it.Ambiguous {
			continue
		}
		scored++
		if second == it.Class || slices.Contains(it.AlsoOK, second) {
			class++
		}
		switch again := second.Verdict().Retriable(); {
		case it.Retriable:
			retriable++
			if !again {
				lost++
			}
		default:
			final++
			if again {
				kept++
			}
		}
	}
	if len(labels) > 0 {
		t.Errorf("%d texts of the second reader are not in the data: %v", len(labels), labels)
	}
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	t.Logf("%d texts: kept trying %.1f %%, given up %.1f %%, right class %.1f %%", scored, share(kept, final), share(lost, retriable), share(class, scored))
	if share(class, scored) < 85 {
		t.Error("the labels of the two agree on less than 85 % of the classes: one of the files is not what it was")
	}
}

// Package judgement scores redrive's classifier on labelled texts of many families.
package judgement

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
	"github.com/redrive/redrive/tests/judgement/texts"
)

// bound is the worst score that some families may have, in shares. Lower it with each change that makes the score better.
type bound struct {
	parts                      []texts.Part
	kept, givenUp, right       float64
	macroKept, macroUp, macroR float64
}

// JUDGEMENT_UNREAD=1 also scores the families that nobody looks at before a change is done.
var bounds = []bound{
	{[]texts.Part{texts.Learn, texts.Choose}, 0.056, 0.023, 0.913, 0.055, 0.018, 0.910},
}

// TestScore prints the score by family, the family with most wrong decisions first, and fails if a score got worse.
func TestScore(t *testing.T) {
	all, err := texts.Read("data")
	if err != nil {
		t.Fatal(err)
	}
	c := classify.Builtin()
	classOf := func(e *failure.Evidence) classify.Classification { return c.Classify(e, "") }
	if os.Getenv("JUDGEMENT_UNREAD") != "" {
		print(t, texts.ByFamily(all, texts.Unread), classOf)
		labels, err := texts.ReadLabels("data")
		if err != nil {
			t.Fatal(err)
		}
		t.Log("the same with the labels that are doubted")
		print(t, texts.ByFamily(labels, texts.Unread), classOf)
	}
	for _, b := range bounds {
		micro, macro := print(t, texts.ByFamily(all, b.parts...), classOf)
		if micro[0] > b.kept || micro[1] > b.givenUp || micro[2] < b.right || macro[0] > b.macroKept || macro[1] > b.macroUp || macro[2] < b.macroR {
			t.Errorf("%v: %.3f, by family %.3f; at worst %.3f %.3f %.3f, by family %.3f %.3f %.3f",
				b.parts, micro, macro, b.kept, b.givenUp, b.right, b.macroKept, b.macroUp, b.macroR)
		}
	}
}

type row struct {
	name string
	*score.Report
}

// print logs a table, and returns the shares kept trying, given up and of the right class: of all texts, and the mean of
// the families that have at least ten texts.
func print(t *testing.T, families map[string][]score.Item, classOf score.Classify) (micro, macro [3]float64) {
	t.Helper()
	var rows []row
	var all []score.Item
	for _, name := range slices.Sorted(maps.Keys(families)) {
		rows = append(rows, row{name, score.Items(families[name], classOf)})
		all = append(all, families[name]...)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return wrong(b.Report) - wrong(a.Report) })
	sum := score.Items(all, classOf)
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %6s %6s %11s %11s %7s\n", "family", "texts", "amb.", "kept trying", "given up", "class")
	line := func(name string, r *score.Report) {
		fmt.Fprintf(&b, "%-20s %6d %6d %10.1f%% %10.1f%% %6.1f%%\n", name, r.Items, r.Ambiguous,
			100*r.NonretriableAsRetriable, 100*r.RetriableAsPermanent, 100*r.ClassRight)
	}
	var mean score.Report
	large := 0
	for _, r := range rows {
		line(r.name, r.Report)
		if r.Items-r.Ambiguous >= 10 {
			large++
			mean.NonretriableAsRetriable += r.NonretriableAsRetriable
			mean.RetriableAsPermanent += r.RetriableAsPermanent
			mean.ClassRight += r.ClassRight
		}
	}
	line("all", sum)
	n := float64(max(large, 1))
	macro = [3]float64{mean.NonretriableAsRetriable / n, mean.RetriableAsPermanent / n, mean.ClassRight / n}
	fmt.Fprintf(&b, "mean of %d families with ten texts or more: %.1f%% %.1f%% %.1f%%\n", large, 100*macro[0], 100*macro[1], 100*macro[2])
	t.Log("\n" + b.String())
	return [3]float64{sum.NonretriableAsRetriable, sum.RetriableAsPermanent, sum.ClassRight}, macro
}

// wrong returns the number of texts of a family that are decided the wrong way.
func wrong(r *score.Report) int {
	n := 0
	for _, m := range r.Misses {
		if m.Kind != "class" {
			n++
		}
	}
	return n
}

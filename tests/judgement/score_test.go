// Package judgement scores redrive's rules on labelled texts of many families.
package judgement

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
)

// read reads all data, by family.
func read(t *testing.T) map[string][]score.Item {
	t.Helper()
	names, err := filepath.Glob("data/*.jsonl.gz")
	if err != nil || len(names) == 0 {
		t.Fatal("no data in data/")
	}
	families := map[string][]score.Item{}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, score.LineMax)
		for n := 1; lines.Scan(); n++ {
			var it struct {
				score.Item
				Family string `json:"family"`
			}
			if err := json.Unmarshal(lines.Bytes(), &it); err != nil {
				t.Fatalf("%s:%d: %v", name, n, err)
			}
			if it.Family == "" || it.Class == "" || it.Text == "" {
				t.Fatalf("%s:%d: family, class or text is missing", name, n)
			}
			families[it.Family] = append(families[it.Family], it.Item)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return families
}

// The worst score that the data may have, in shares. Lower them with each change that makes the score better.
const (
	mostKeptTrying = 0.344
	mostGivenUp    = 0.217
	leastRight     = 0.545
)

// TestScore prints the score by family, the family with most wrong decisions first, and fails if the score
// of all texts got worse.
func TestScore(t *testing.T) {
	c := classify.Builtin()
	classOf := func(e *failure.Evidence) classify.Classification { return c.Classify(e, "") }
	families := read(t)
	type row struct {
		name string
		*score.Report
	}
	var rows []row
	var all []score.Item
	for _, name := range slices.Sorted(maps.Keys(families)) {
		rows = append(rows, row{name, score.Items(families[name], classOf)})
		all = append(all, families[name]...)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return wrong(b.Report) - wrong(a.Report) })
	sum := score.Items(all, classOf)
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %6s %6s %11s %11s %7s\n", "family", "texts", "amb.", "kept trying", "given up", "class")
	for _, r := range append(rows, row{"all", sum}) {
		fmt.Fprintf(&b, "%-14s %6d %6d %10.1f%% %10.1f%% %6.1f%%\n", r.name, r.Items, r.Ambiguous,
			100*r.NonretriableAsRetriable, 100*r.RetriableAsPermanent, 100*r.ClassRight)
	}
	t.Log("\n" + b.String())
	if sum.NonretriableAsRetriable > mostKeptTrying || sum.RetriableAsPermanent > mostGivenUp || sum.ClassRight < leastRight {
		t.Errorf("kept trying %.3f, given up %.3f, class right %.3f; at worst %.3f, %.3f, %.3f", sum.NonretriableAsRetriable,
			sum.RetriableAsPermanent, sum.ClassRight, mostKeptTrying, mostGivenUp, leastRight)
	}
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

// Package texts reads the labelled texts of this module and divides them by family.
package texts

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
)

// Text is one labelled text.
type Text struct {
	score.Item
	Family string `json:"family"`
	// Doubted says that the label cannot be read in the text: the same words stand under the other verdict as well, or a
	// second reader gave it the other one. Such texts are ambiguous.
	Doubted bool `json:"-"`
}

// Part is a part of the families.
type Part string

// The parts. Only the hash of a family's name decides where a family belongs.
const (
	Learn  Part = "learn"  // 70 %: weights are learned from them
	Choose Part = "choose" // 15 %: mechanisms and settings are compared on them
	Unread Part = "unread" // 15 %: nobody looks at them or their score before a change is done
)

// PartOf returns the part of a family.
func PartOf(family string) Part {
	h := fnv.New32a()
	_, _ = h.Write([]byte("part of " + family))
	switch n := h.Sum32() % 100; {
	case n < 15:
		return Unread
	case n < 30:
		return Choose
	default:
		return Learn
	}
}

// Read reads all files of a folder, in the order of their names, and marks the texts whose label is doubted.
func Read(dir string) ([]Text, error) {
	all, err := ReadLabels(dir)
	if err != nil {
		return nil, err
	}
	contradicted(all)
	return all, second(all, dir)
}

// ReadLabels reads all files of a folder, in the order of their names, with the labels that they have.
func ReadLabels(dir string) ([]Text, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no file *.jsonl.gz is in %s", dir)
	}
	slices.Sort(names)
	var all []Text
	for _, name := range names {
		if all, err = readFile(all, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readFile(all []Text, name string) ([]Text, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, score.LineMax)
	for n := 1; lines.Scan(); n++ {
		var t Text
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if t.Family == "" || t.Class == "" || t.Text == "" {
			return nil, fmt.Errorf("%s:%d: family, class or text is missing", name, n)
		}
		if t.Class == failure.ProgramError {
			t.Ambiguous = true // whether a defect is tried again is for the policy to say, as it is of a panic
		}
		all = append(all, t)
	}
	return all, lines.Err()
}

// ByFamily returns the texts of some parts, by family.
func ByFamily(all []Text, parts ...Part) map[string][]score.Item {
	families := map[string][]score.Item{}
	for i := range all {
		if t := &all[i]; slices.Contains(parts, PartOf(t.Family)) {
			families[t.Family] = append(families[t.Family], t.Item)
		}
	}
	return families
}

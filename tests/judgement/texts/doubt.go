package texts

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redrive/redrive/failure"
)

// contradicted marks texts whose words stand under the other verdict at least as often: what was broken cannot be read in
// them. Names of files and the name of the program in front are no words.
func contradicted(all []Text) {
	type votes struct{ retriable, final int }
	count := map[string]*votes{}
	words := make([]string, len(all))
	for i := range all {
		t := &all[i]
		if t.Ambiguous {
			continue
		}
		words[i] = wordsOf(t.Text)
		v := count[words[i]]
		if v == nil {
			v = &votes{}
			count[words[i]] = v
		}
		if t.Retriable {
			v.retriable++
		} else {
			v.final++
		}
	}
	for i := range all {
		t := &all[i]
		if t.Ambiguous || words[i] == "" {
			continue
		}
		v := count[words[i]]
		if t.Retriable && v.final >= v.retriable || !t.Retriable && v.retriable >= v.final {
			t.Ambiguous, t.Doubted = true, true
		}
	}
}

// wordsOf returns a text without names of files and without the name of the program in front.
func wordsOf(text string) string {
	var kept []string
	for i, w := range strings.Fields(text) {
		if strings.ContainsAny(w, `/\`) || i == 0 && strings.HasSuffix(w, ":") {
			continue
		}
		if w = strings.ToLower(strings.Trim(w, `"'.,:;()[]‘’“”«»„`+"`")); w != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// second marks texts that a second reader, who saw the text alone, gave the other verdict. The file has an id and a class
// in each line, with a tab between.
func second(all []Text, dir string) error {
	labels, err := ReadSecond(filepath.Join(dir, "second.tsv"))
	if err != nil {
		return err
	}
	for i := range all {
		t := &all[i]
		if class, ok := labels[t.ID]; ok && !t.Ambiguous && class.Verdict().Retriable() != t.Retriable {
			t.Ambiguous, t.Doubted = true, true
		}
	}
	return nil
}

// ReadSecond reads the labels of the second reader: the class of each text by its id.
func ReadSecond(name string) (map[string]failure.Class, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	labels := map[string]failure.Class{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		id, class, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			return nil, fmt.Errorf("%s:%d: no tab between the id and the class", name, n)
		}
		labels[id] = failure.Class(class)
	}
	return labels, lines.Err()
}

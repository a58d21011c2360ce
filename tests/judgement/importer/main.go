// Command importer makes data/written.jsonl.gz of tables that people have written, one file for each family:
// FAMILY.tsv. A line has five columns: the class, other classes that are right (with commas between), whether
// waiting can mend it (1, 0, or ? where people would argue), the text with \n and \t as escapes, and the source.
//
// It names every mistake with its file and line, and writes nothing if there is one. A text that another family
// has, too, is left out: with its numbers taken away, it must be new.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redrive/redrive/failure"
)

// line is a text as it is stored, with the fields of the captured ones.
type line struct {
	ID        string          `json:"id"`
	Family    string          `json:"family"`
	Text      string          `json:"text"`
	Class     failure.Class   `json:"class"`
	AlsoOK    []failure.Class `json:"also_ok,omitempty"`
	Retriable bool            `json:"retriable"`
	Ambiguous bool            `json:"ambiguous,omitempty"`
	Source    string          `json:"source"`
}

func main() {
	out := flag.String("out", "../data/written.jsonl.gz", "file to write")
	flag.Parse()
	log.SetFlags(0)
	if flag.NArg() != 1 {
		log.Fatal("importer: one argument is needed, the folder with FAMILY.tsv files")
	}
	if err := run(flag.Arg(0), *out); err != nil {
		log.Fatal("importer: ", err)
	}
}

func run(dir, out string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.tsv"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no file *.tsv is in %s", dir)
	}
	slices.Sort(names)
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var mistakes []error
	total, doubles := 0, 0
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		family := strings.TrimSuffix(filepath.Base(name), ".tsv")
		for i, row := range strings.Split(string(content), "\n") {
			if row == "" || row[0] == '#' {
				continue
			}
			l, err := readLine(family, row)
			if err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s:%d: %w", filepath.Base(name), i+1, err))
				continue
			}
			key := withoutNumbers(l.Text)
			if seen[key] {
				doubles++
				continue
			}
			seen[key] = true
			stored, err := json.Marshal(l)
			if err != nil {
				return err
			}
			if _, err := z.Write(append(stored, '\n')); err != nil {
				return err
			}
			total++
		}
	}
	if len(mistakes) > 0 {
		return errors.Join(mistakes...)
	}
	if err := z.Close(); err != nil {
		return err
	}
	log.Printf("%d texts of %d families, %d doubles left out", total, len(names), doubles)
	return os.WriteFile(out, b.Bytes(), 0o644)
}

func readLine(family, row string) (line, error) {
	columns := strings.Split(row, "\t")
	if len(columns) != 5 {
		return line{}, fmt.Errorf("%d columns: a line has 5, with a tab between: class, also, retriable, text, source", len(columns))
	}
	l := line{Family: family, Class: failure.Class(columns[0]), Text: unescape(columns[3]), Source: "written: " + columns[4]}
	if columns[1] != "" {
		for c := range strings.SplitSeq(columns[1], ",") {
			l.AlsoOK = append(l.AlsoOK, failure.Class(strings.TrimSpace(c)))
		}
	}
	for _, c := range append([]failure.Class{l.Class}, l.AlsoOK...) {
		if _, ok := failure.InfoOf(c); !ok {
			return line{}, fmt.Errorf("%q is no class", c)
		}
	}
	switch columns[2] {
	case "1", "0":
		l.Retriable = columns[2] == "1"
	case "?":
		l.Ambiguous, l.Retriable = true, l.Class.Verdict().Retriable()
	default:
		return line{}, fmt.Errorf("retriable is %q: must be 1, 0 or ?", columns[2])
	}
	if strings.TrimSpace(l.Text) == "" {
		return line{}, errors.New("the text is empty")
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(l.Text))
	l.ID = fmt.Sprintf("w%08x", h.Sum32())
	return l, nil
}

// unescape turns \n and \t into a line break and a tab. A backslash before them stays.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		default:
			b.WriteString(text[i-1 : i+1])
		}
	}
	return b.String()
}

// withoutNumbers returns the letters of a text in lower case: what makes two texts doubles.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r < 'A' || r > 'Z' && r < 'a' || r > 'z') {
			return -1
		}
		return r
	}, strings.ToLower(text))
}

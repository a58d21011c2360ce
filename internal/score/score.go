// Package score measures how well a classifier does on labelled texts of
// failures: how often a failure that nobody mends by waiting is taken for one
// that is retried, how often the other way round, and how often the class is
// right. It also tells how well the rules generalise: which of them decide one
// line only, and whether the class survives what does not matter.
package score

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
)

// LineMax is the longest line that is read, in bytes.
const LineMax = 16 << 20

// Item is one labelled text, a line of JSON.
type Item struct {
	ID        string          `json:"id"`
	Text      string          `json:"text"`
	Status    *int            `json:"status"`    // HTTP status that came with it
	ExitCode  *int            `json:"exit_code"` // of the process
	Code      json.RawMessage `json:"code"`      // errno, SDK code, gRPC code, SQLSTATE: a string or a number
	Source    string          `json:"source"`
	Retriable bool            `json:"retriable"` // waiting alone could mend it
	Class     failure.Class   `json:"class"`
	AlsoOK    []failure.Class `json:"also_ok"`   // other classes that are right too
	Ambiguous bool            `json:"ambiguous"` // even Retriable is open
}

// Evidence returns what a worker would have known.
func (it *Item) Evidence() *failure.Evidence {
	e := &failure.Evidence{Message: it.Text, Exit: it.ExitCode}
	if it.Status != nil {
		e.HTTPStatus = *it.Status
	}
	if code := string(it.Code); code != "" && code != "null" {
		if json.Unmarshal(it.Code, &e.ServiceCode) != nil {
			e.ServiceCode = code
		}
	}
	return e
}

// right reports whether a class is the wanted one or as good.
func (it *Item) right(c failure.Class) bool { return c == it.Class || slices.Contains(it.AlsoOK, c) }

// Judge classifies evidence, with the verdict that counts.
type Judge func(*failure.Evidence) failure.Classification

// Report is what came out. Shares are from 0 to 1 and leave ambiguous items
// out, as do Confusion and Misses.
type Report struct {
	Items     int `json:"items"`     // lines, ambiguous ones included
	Ambiguous int `json:"ambiguous"` // of them

	NonretriableAsRetriable float64 `json:"nonretriable_as_retriable"` // of those that waiting does not mend
	RetriableAsPermanent    float64 `json:"retriable_as_permanent"`    // of those that it may mend
	ClassRight              float64 `json:"class_right"`               // class or one of also_ok
	AmbiguousClassRight     float64 `json:"ambiguous_class_right"`     // the same of the ambiguous ones

	Confusion map[failure.Class]map[failure.Class]int `json:"confusion"` // wanted, got, lines; what also_ok accepts counts as wanted
	Misses    []Miss                                  `json:"misses"`

	Rules    map[string]int `json:"rules"`     // lines decided by each rule, ambiguous ones included
	OneLine  float64        `json:"one_line"`  // share of the lines whose rule decided no other line
	Phrases  int            `json:"phrases"`   // of the classifier, if the caller says
	Patterns int            `json:"patterns"`  // likewise
	Unknown  int            `json:"unmatched"` // lines that no rule matched
}

// Miss is an item that was taken for something else.
type Miss struct {
	ID   string        `json:"id"`
	Want failure.Class `json:"want"`
	Got  failure.Class `json:"got"`
	Rule string        `json:"rule"` // that decided, "" for none
	Saw  string        `json:"saw"`
	Kind string        `json:"kind"` // "nonretriable_as_retriable", "retriable_as_permanent" or "class"
	Text string        `json:"text"` // shortened
}

// Read reads items, one JSON object a line. Empty lines are left out; an error
// names the line.
func Read(r io.Reader) ([]Item, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, LineMax)
	var items []Item
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var it Item
		if err := json.Unmarshal(line, &it); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := it.check(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		items = append(items, it)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than %d bytes", len(items)+1, LineMax)
	} else if err != nil {
		return nil, err
	}
	return items, nil
}

func (it *Item) check(line []byte) error {
	if it.Class == "" {
		return errors.New(`"class" is missing: it is what the text is compared with`)
	}
	var has struct{ Retriable *bool }
	if err := json.Unmarshal(line, &has); err != nil || has.Retriable == nil {
		return errors.New(`"retriable" is missing: true or false`)
	}
	return nil
}

// Score reads labelled items and reports how the judge does on them.
func Score(r io.Reader, judge func(*failure.Evidence) failure.Classification) (*Report, error) {
	items, err := Read(r)
	if err != nil {
		return nil, err
	}
	return Items(items, judge), nil
}

// Items reports how the judge does on items.
func Items(items []Item, judge Judge) *Report {
	rep := &Report{Items: len(items), Confusion: map[failure.Class]map[failure.Class]int{}, Misses: []Miss{}, Rules: map[string]int{}}
	var retriable, final, right, ambiguousRight, lost, burnt int
	for i := range items {
		it := &items[i]
		got := judge(it.Evidence())
		if rep.Rules[got.Rule]++; got.Rule == "" {
			rep.Unknown++
		}
		ok := it.right(got.Class)
		if it.Ambiguous {
			rep.Ambiguous++
			ambiguousRight += count(ok)
			continue
		}
		miss := "class"
		retried := got.Verdict.Retriable()
		switch {
		case it.Retriable && !retried:
			miss = "retriable_as_permanent"
			lost++
		case !it.Retriable && retried:
			miss = "nonretriable_as_retriable"
			burnt++
		}
		retriable += count(it.Retriable)
		final += count(!it.Retriable)
		right += count(ok)
		rep.confuse(it, got.Class, ok)
		if !ok || miss != "class" {
			rep.Misses = append(rep.Misses, Miss{
				ID: it.ID, Want: it.Class, Got: got.Class, Rule: got.Rule, Saw: shorten(got.Saw, 60), Kind: miss, Text: shorten(it.Text, 200),
			})
		}
	}
	rep.NonretriableAsRetriable = share(burnt, final)
	rep.RetriableAsPermanent = share(lost, retriable)
	rep.ClassRight = share(right, retriable+final)
	rep.AmbiguousClassRight = share(ambiguousRight, rep.Ambiguous)
	rep.OneLine = oneLine(rep.Rules, rep.Items)
	return rep
}

func (rep *Report) confuse(it *Item, got failure.Class, ok bool) {
	if ok {
		got = it.Class
	}
	if rep.Confusion[it.Class] == nil {
		rep.Confusion[it.Class] = map[failure.Class]int{}
	}
	rep.Confusion[it.Class][got]++
}

func oneLine(rules map[string]int, items int) float64 {
	single := 0
	for rule, lines := range rules {
		if lines == 1 && rule != "" {
			single++
		}
	}
	return share(single, items)
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shorten keeps both ends of a text, in one line.
func shorten(text string, limit int) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "�")
	if len(text) <= limit {
		return text
	}
	head, tail := limit*2/3, len(text)-limit/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + " … " + text[tail:]
}

// BySource leaves each source out in turn and reports the shares of its items
// alone: rules that were written from other sources have to do there.
func BySource(items []Item, judge Judge) map[string]*Report {
	groups := map[string][]Item{}
	for _, it := range items {
		groups[it.Source] = append(groups[it.Source], it)
	}
	out := map[string]*Report{}
	for source, group := range groups {
		out[source] = Items(group, judge)
	}
	return out
}

// Package score measures a classifier on labelled texts of failures: how often a permanent
// failure is classified as retriable, how often a retriable failure as permanent, and how
// often the class is right. It also measures how well the rules work for other texts: which
// rules match only one line, and whether unimportant changes of a text change its class.
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

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// LineMax is the longest allowed line in bytes.
const LineMax = 16 << 20

// Item is one labelled text. The input has one item as JSON in each line.
type Item struct {
	ID        string          `json:"id"`
	Text      string          `json:"text"`
	Status    *int            `json:"status"`    // HTTP status of the failure
	ExitCode  *int            `json:"exit_code"` // exit code of the process
	Code      json.RawMessage `json:"code"`      // errno, SDK code, gRPC code or SQLSTATE, as a string or a number
	Source    string          `json:"source"`
	Retriable bool            `json:"retriable"` // true if a later attempt may succeed without any change
	Class     failure.Class   `json:"class"`
	AlsoOK    []failure.Class `json:"also_ok"`   // classes that are also right for the item, in addition to the expected class
	Ambiguous bool            `json:"ambiguous"` // true if even people disagree about Retriable
}

// Evidence returns the evidence that a worker would have about this failure.
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

// right reports whether c is the class of the item or one of its AlsoOK classes.
func (it *Item) right(c failure.Class) bool { return c == it.Class || slices.Contains(it.AlsoOK, c) }

// Classify assigns a class and a verdict to evidence.
type Classify func(*failure.Evidence) classify.Classification

// Report is the result of a measurement. Shares are numbers from 0 to 1. Ambiguous items
// are not included in the shares, in Confusion and in Misses.
type Report struct {
	Items     int `json:"items"`     // number of items, including ambiguous ones
	Ambiguous int `json:"ambiguous"` // number of ambiguous items

	NonretriableAsRetriable float64 `json:"nonretriable_as_retriable"` // share of the non-retriable items that were classified as retriable
	RetriableAsPermanent    float64 `json:"retriable_as_permanent"`    // share of the retriable items that were classified as permanent
	ClassRight              float64 `json:"class_right"`               // share of the items whose class is right
	AmbiguousClassRight     float64 `json:"ambiguous_class_right"`     // share of the ambiguous items whose class is right

	Confusion map[failure.Class]map[failure.Class]int `json:"confusion"` // number of items by expected class and by assigned class; a class in also_ok counts as expected
	Misses    []Miss                                  `json:"misses"`

	Rules    map[string]int `json:"rules"`     // number of items that each rule decided, including ambiguous items
	OneLine  float64        `json:"one_line"`  // share of the items whose rule decided no other item
	Phrases  int            `json:"phrases"`   // number of phrases in the classifier, if the caller sets it
	Patterns int            `json:"patterns"`  // number of patterns in the classifier, if the caller sets it
	Unknown  int            `json:"unmatched"` // number of items that no rule matched
}

// Miss is an item that was classified wrongly.
type Miss struct {
	ID   string        `json:"id"`
	Want failure.Class `json:"want"`
	Got  failure.Class `json:"got"`
	Rule string        `json:"rule"` // name of the rule that decided; "" if no rule matched
	Saw  string        `json:"saw"`
	Kind string        `json:"kind"` // the kind of the mistake: "nonretriable_as_retriable", "retriable_as_permanent" or "class"
	Text string        `json:"text"` // the error text, shortened
}

// Read reads items, one JSON object in each line. It skips empty lines. An error contains
// the number of the line.
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
		return errors.New(`"class" is missing: it must name the expected class`)
	}
	var has struct{ Retriable *bool }
	if err := json.Unmarshal(line, &has); err != nil || has.Retriable == nil {
		return errors.New(`"retriable" is missing: it must be true or false`)
	}
	return nil
}

// Score reads labelled items and measures how the given function classifies them.
func Score(r io.Reader, classOf func(*failure.Evidence) classify.Classification) (*Report, error) {
	items, err := Read(r)
	if err != nil {
		return nil, err
	}
	return Items(items, classOf), nil
}

// Items measures how the given function classifies the items.
func Items(items []Item, classOf Classify) *Report {
	rep := &Report{Items: len(items), Confusion: map[failure.Class]map[failure.Class]int{}, Misses: []Miss{}, Rules: map[string]int{}}
	var retriable, final, right, ambiguousRight, lost, burnt int
	for i := range items {
		it := &items[i]
		got := classOf(it.Evidence())
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

// shorten returns a text in one line. If the text is too long, only its beginning and its
// end are kept.
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

// BySource measures the items of each source separately. Rules that were written for some
// sources should also work for the others.
func BySource(items []Item, classOf Classify) map[string]*Report {
	groups := map[string][]Item{}
	for _, it := range items {
		groups[it.Source] = append(groups[it.Source], it)
	}
	out := map[string]*Report{}
	for source, group := range groups {
		out[source] = Items(group, classOf)
	}
	return out
}

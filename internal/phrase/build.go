package phrase

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// Builder collects phrases before they are frozen into a machine.
type Builder struct {
	words  map[uint64]int32
	fused  map[uint64]int32
	means  [][]int32
	states []buildState
	sets   [][]int32
	bits   []uint64 // of the words, see needBits
	setOf  map[string]int32
}

type buildState struct {
	steps []step
	outs  []output
	last  uint64 // see lastOf; 0 before it is known
}

// place is where a part of a phrase begins: a state, and how many words may
// stand in front of the part.
type place struct {
	state int32
	gap   uint8
}

// NewBuilder returns a builder that knows the synonyms and no phrases.
func NewBuilder() (*Builder, error) {
	b := &Builder{words: map[uint64]int32{}, fused: map[uint64]int32{}, setOf: map[string]int32{}}
	b.means = append(b.means, nil) // the root of the synonyms
	b.sets = append(b.sets, nil)   // set 0 is no set
	b.newState()                   // the root of the phrases
	b.word(anyNumber)
	return b, b.addSynonyms()
}

func (b *Builder) newState() int32 {
	b.states = append(b.states, buildState{})
	return int32(len(b.states) - 1)
}

func (b *Builder) word(hash uint64) int32 {
	n, ok := b.words[hash]
	if !ok {
		n = int32(len(b.words) + 1)
		b.words[hash] = n
	}
	return n
}

// addSynonyms gives every synonym a number of its own, and its forms a trie.
func (b *Builder) addSynonyms() error {
	forms := map[string]string{}
	for _, s := range synonyms {
		text := s.forms
		for name, other := range forms {
			text = strings.ReplaceAll(text, "{"+name+"}", other)
		}
		forms[s.name] = "(" + strings.ReplaceAll(strings.Join(Lines(text), "|"), "\t", "") + ")"
		parsed, err := Parse(forms[s.name])
		if err != nil {
			return fmt.Errorf("synonym %q: %w", s.name, err)
		}
		number := b.word(synonymHash(s.name))
		for _, row := range spell(parsed.parts, 1<<16) {
			at := int32(0)
			for _, p := range row {
				key := fuseKey(at, b.word(p.hash))
				if b.fused[key] == 0 {
					b.means = append(b.means, nil)
					b.fused[key] = int32(len(b.means) - 1)
				}
				at = b.fused[key]
			}
			if !slices.Contains(b.means[at], number) {
				b.means[at] = append(b.means[at], number)
			}
		}
	}
	return nil
}

func synonymHash(name string) uint64 { return scan.HashWord("=" + name) }

// Lines splits a text into lines without the white space around them.
func Lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// spell multiplies parts out into rows of words: nil if there are more than
// limit rows, or if there is something else than words.
func spell(parts []part, limit int) [][]part {
	if n := rowsOf(parts); n == 0 || n > limit {
		return nil
	}
	rows := [][]part{nil}
	for _, p := range parts {
		var options [][]part
		switch {
		case p.word != "":
			options = [][]part{{p}}
		case p.group == nil:
			return nil
		}
		for _, g := range p.group {
			inner := spell(g, limit)
			if inner == nil {
				return nil
			}
			options = append(options, inner...)
		}
		if p.optional {
			options = append(options, nil)
		}
		next := make([][]part, 0, len(rows)*len(options))
		for _, r := range rows {
			for _, o := range options {
				next = append(next, append(slices.Clip(r), o...))
			}
		}
		rows = next
	}
	return rows
}

// rowsOf counts the rows of words that parts stand for, 0 if there is something
// else than words.
func rowsOf(parts []part) int {
	total := 1
	for _, p := range parts {
		n := 0
		switch {
		case p.word != "":
			n = 1
		case p.group == nil:
			return 0
		}
		for _, g := range p.group {
			inner := rowsOf(g)
			if inner == 0 {
				return 0
			}
			n += inner
		}
		if p.optional {
			n++
		}
		if total *= n; total > 1<<20 {
			return total
		}
	}
	return total
}

// fuse replaces the longest rows of words that mean something by what they mean.
func (b *Builder) fuse(parts []part) []part {
	var out []part
	for i := 0; i < len(parts); {
		at, end, word := int32(0), 0, int32(0)
		for j := i; j < len(parts) && parts[j].word != "" && !parts[j].exact; j++ {
			next, ok := b.fused[fuseKey(at, b.words[parts[j].hash])]
			if !ok {
				break
			}
			if at = next; len(b.means[at]) > 0 {
				end, word = j+1, b.means[at][0]
			}
		}
		if end <= i+1 { // a word by itself keeps its own number too: see numbers
			out = append(out, parts[i])
			i++
			continue
		}
		out = append(out, part{word: "=", hash: uint64(word)})
		i = end
	}
	return out
}

// numbers returns the number of a word, and of what it means by itself.
func (b *Builder) numbers(p part) []int32 {
	if p.word == "=" {
		return []int32{int32(p.hash)}
	}
	n := b.word(p.hash)
	out := []int32{n}
	if p.exact {
		return out
	}
	if at, ok := b.fused[fuseKey(0, n)]; ok {
		out = append(out, b.means[at]...)
	}
	return out
}

// joinMax bounds the rows of a phrase that are also looked for as one word.
const joinMax = 48

// Add puts a phrase into the machine. With joined, rows of words are also found
// written as one word, as identifiers are in small letters.
func (b *Builder) Add(text string, rule int, joined bool) error {
	p, err := Parse(text)
	if err != nil {
		return fmt.Errorf("phrase %q: %w", text, err)
	}
	out := output{rule: int32(rule), before: b.unwanted(p.before), after: b.unwanted(p.after)}
	parts := p.parts
	for out.before == 0 && len(parts) > 1 && parts[0].optional {
		parts = parts[1:]
	}
	b.finish(b.sequence(parts, []place{{state: 0}}), out)
	if !joined {
		return nil
	}
	var ones []int32
	for _, row := range spell(parts, joinMax) {
		if one := joinWords(row); one != "" {
			ones = append(ones, b.word(scan.HashWord(one)))
		}
	}
	if len(ones) > 0 {
		b.finish([]place{{state: b.link([]place{{state: 0}}, ones)}}, out)
	}
	return nil
}

func (b *Builder) finish(ends []place, out output) {
	for _, e := range ends {
		b.states[e.state].outs = append(b.states[e.state].outs, out)
	}
}

// joinWords returns the words of a row as one, "" if that is nothing that
// somebody would write.
func joinWords(row []part) string {
	var one strings.Builder
	for _, p := range row {
		if p.word[0] >= 0x80 {
			return ""
		}
		one.WriteString(p.word)
	}
	if len(row) < 2 || one.Len() < 8 || one.Len() > 40 {
		return ""
	}
	return one.String()
}

// sequence adds parts behind places, and returns where they end.
func (b *Builder) sequence(parts []part, from []place) []place {
	for _, p := range b.fuse(parts) {
		switch {
		case p.gap > 0:
			for i := range from {
				from[i].gap = uint8(p.gap)
			}
		case p.hold != noPlaceholder:
			to := b.newState()
			for _, f := range from {
				b.states[f.state].steps = append(b.states[f.state].steps, step{to: to, hold: p.hold, gap: f.gap})
			}
			from = []place{{state: to}}
		case p.word != "":
			from = []place{{state: b.link(from, b.numbers(p))}}
		default:
			from = b.alternatives(p, from)
		}
	}
	return from
}

// alternatives adds a group. Its single words are one step.
func (b *Builder) alternatives(p part, from []place) []place {
	var ends []place
	var single []int32
	for _, option := range p.group {
		option = b.fuse(option)
		if len(option) == 1 && option[0].word != "" {
			single = append(single, b.numbers(option[0])...)
		} else {
			ends = append(ends, b.sequence(option, slices.Clone(from))...)
		}
	}
	if len(single) > 0 {
		ends = append(ends, place{state: b.link(from, single)})
	}
	if p.optional {
		ends = append(ends, from...)
	}
	return ends
}

// link leads from places to a new state by any of the words.
func (b *Builder) link(from []place, words []int32) int32 {
	to := b.newState()
	slices.Sort(words)
	words = slices.Compact(words)
	word := words[0]
	if len(words) > 1 {
		word = -b.set(words)
	}
	for _, f := range from {
		b.states[f.state].steps = append(b.states[f.state].steps, step{to: to, word: word, gap: f.gap})
	}
	return to
}

func (b *Builder) set(words []int32) int32 {
	bytes := make([]byte, 0, 4*len(words))
	for _, w := range words {
		bytes = append(bytes, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	key := string(bytes)
	n, ok := b.setOf[key]
	if !ok {
		n = int32(len(b.sets))
		b.sets = append(b.sets, words)
		b.setOf[key] = n
	}
	return n
}

func (b *Builder) unwanted(hashes []uint64) int32 {
	var words []int32
	for _, h := range hashes {
		words = append(words, b.numbers(part{word: "w", hash: h})...)
	}
	if len(words) == 0 {
		return 0
	}
	slices.Sort(words)
	return b.set(slices.Compact(words))
}

func (b *Builder) taken(s step) []int32 {
	if s.word > 0 {
		return []int32{s.word}
	}
	return b.sets[-s.word]
}

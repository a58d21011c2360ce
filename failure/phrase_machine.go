package failure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// machine finds all phrases of a set of rules in one pass over the words of a
// text: an automaton whose steps are numbers of words, so that the cost of a
// text hardly grows with the number of phrases.
type machine struct {
	words  table     // hash of a stem → number of the word
	fused  table     // node of the synonyms and number → node
	means  [][]int32 // per node of the synonyms: what it means
	starts [][]entry // per word: the states behind it
	holds  []step    // of phrases that begin with a placeholder
	states []state
	steps  []step
	outs   []output
	sets   []uint64 // per word: the sets that it is in, a bit each
	width  int32    // numbers per word
	number int32    // the word that stands for any number behind "!"
}

// entry is a state behind a first word. next has the bits of the words that may
// follow, so that most entries are passed over without a look at the state.
type entry struct {
	state int32
	next  uint64
}

// state is a place within phrases.
type state struct {
	step, steps int32 // what may follow
	out, outs   int32 // the phrases that may end here
}

// step leads from one state to another by a word of a set, or by a placeholder,
// after up to gap other words.
type step struct {
	to   int32
	word int32 // > 0: this word; 0: by hold; < 0: of the set -word
	hold placeholder
	gap  uint8
}

// output is a phrase that was found.
type output struct {
	rule          int32
	before, after int32 // set of words that must not be there, 0 for none
}

// table is an open hash table from numbers to numbers, 0 for none. Keys are
// never 0.
type table struct {
	keys   []uint64
	values []int32
	mask   uint64
}

func newTable(n int) table {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return table{keys: make([]uint64, size), values: make([]int32, size), mask: uint64(size - 1)}
}

func spread(key uint64) uint64 {
	key *= 0x9e3779b97f4a7c15
	return key ^ key>>29
}

func (t *table) put(key uint64, value int32) {
	i := spread(key) & t.mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & t.mask
	}
	t.keys[i], t.values[i] = key, value
}

func (t *table) get(key uint64) int32 {
	for i := spread(key) & t.mask; ; i = (i + 1) & t.mask {
		switch t.keys[i] {
		case key:
			return t.values[i]
		case 0:
			return 0
		}
	}
}

func fuseKey(node, word int32) uint64 { return uint64(node+1)<<32 | uint64(word) }

// bitOf gives each word one of 64 bits.
func bitOf(word int32) uint64 { return 1 << (spread(uint64(word)) & 63) }

// builder collects phrases before they are frozen into a machine.
type builder struct {
	words   map[uint64]int32
	fused   map[uint64]int32
	means   [][]int32
	states  []buildState
	sets    [][]int32
	setOf   map[string]int32
	phrases int
}

type buildState struct {
	steps []step
	outs  []output
}

// place is where a part of a phrase begins: a state, and how many words may
// stand in front of the part.
type place struct {
	state int32
	gap   uint8
}

func newBuilder() (*builder, error) {
	b := &builder{words: map[uint64]int32{}, fused: map[uint64]int32{}, setOf: map[string]int32{}}
	b.means = append(b.means, nil) // the root of the synonyms
	b.sets = append(b.sets, nil)   // set 0 is no set
	b.newState()                   // the root of the phrases
	b.word(anyNumber)
	return b, b.addSynonyms()
}

func (b *builder) newState() int32 {
	b.states = append(b.states, buildState{})
	return int32(len(b.states) - 1)
}

func (b *builder) word(hash uint64) int32 {
	n, ok := b.words[hash]
	if !ok {
		n = int32(len(b.words) + 1)
		b.words[hash] = n
	}
	return n
}

// addSynonyms gives every synonym a number of its own, and its forms a trie.
func (b *builder) addSynonyms() error {
	forms := map[string]string{}
	for _, s := range synonyms {
		text := s.forms
		for name, other := range forms {
			text = strings.ReplaceAll(text, "{"+name+"}", other)
		}
		forms[s.name] = "(" + strings.ReplaceAll(strings.Join(lines(text), "|"), "\t", "") + ")"
		parsed, err := parsePhrase(forms[s.name])
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

// lines splits a text into lines without the white space around them.
func lines(text string) []string {
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
		if len(rows)*len(options) > limit {
			return nil
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

// fuse replaces the longest rows of words that mean something by what they mean.
func (b *builder) fuse(parts []part) []part {
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
func (b *builder) numbers(p part) []int32 {
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

// add puts a phrase into the machine. With joined, rows of words are also found
// written as one word, as identifiers are in small letters.
func (b *builder) add(text string, rule int, joined bool) error {
	p, err := parsePhrase(text)
	if err != nil {
		return fmt.Errorf("phrase %q: %w", text, err)
	}
	b.phrases++
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

func (b *builder) finish(ends []place, out output) {
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
func (b *builder) sequence(parts []part, from []place) []place {
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
func (b *builder) alternatives(p part, from []place) []place {
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
func (b *builder) link(from []place, words []int32) int32 {
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

func (b *builder) set(words []int32) int32 {
	key := fmt.Sprint(words)
	n, ok := b.setOf[key]
	if !ok {
		n = int32(len(b.sets))
		b.sets = append(b.sets, words)
		b.setOf[key] = n
	}
	return n
}

func (b *builder) unwanted(hashes []uint64) int32 {
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

// freeze makes the machine.
func (b *builder) freeze() *machine {
	m := &machine{words: newTable(len(b.words)), fused: newTable(len(b.fused)), means: b.means, number: b.words[anyNumber]}
	for hash, n := range b.words {
		m.words.put(hash, n)
	}
	for key, to := range b.fused {
		m.fused.put(key, to)
	}
	b.freezeSets(m)
	m.states = make([]state, len(b.states))
	for i, s := range b.states {
		m.states[i] = state{int32(len(m.steps)), int32(len(s.steps)), int32(len(m.outs)), int32(len(s.outs))}
		m.steps = append(m.steps, s.steps...)
		m.outs = append(m.outs, s.outs...)
	}
	m.starts = make([][]entry, len(b.words)+1)
	for _, s := range b.states[0].steps {
		if s.word == 0 {
			m.holds = append(m.holds, s)
			continue
		}
		e := entry{s.to, b.following(s.to)}
		for _, w := range b.taken(s) {
			m.starts[w] = append(m.starts[w], e)
		}
	}
	return m
}

func (b *builder) taken(s step) []int32 {
	if s.word > 0 {
		return []int32{s.word}
	}
	return b.sets[-s.word]
}

// following returns the bits of the words that may follow a state, all where
// something else than the next word decides.
func (b *builder) following(at int32) uint64 {
	bits := uint64(0)
	if len(b.states[at].outs) > 0 {
		return ^bits
	}
	for _, s := range b.states[at].steps {
		if s.word == 0 || s.gap > 0 {
			return ^uint64(0)
		}
		for _, w := range b.taken(s) {
			bits |= bitOf(w)
		}
	}
	return bits
}

// freezeSets writes down for each word the sets that it is in. Sets that only
// begin phrases are not needed: see starts.
func (b *builder) freezeSets(m *machine) {
	number := make([]int32, len(b.sets)) // of the sets that are needed
	next := int32(1)
	need := func(set int32) int32 {
		if set > 0 && number[set] == 0 {
			number[set] = next
			next++
		}
		return number[set]
	}
	for at := range b.states {
		s := &b.states[at]
		for i := range s.steps {
			if at > 0 && s.steps[i].word < 0 {
				s.steps[i].word = -need(-s.steps[i].word)
			}
		}
		for i := range s.outs {
			s.outs[i].before, s.outs[i].after = need(s.outs[i].before), need(s.outs[i].after)
		}
	}
	m.width = next/64 + 1
	m.sets = make([]uint64, (len(b.words)+1)*int(m.width))
	frozen := make([][]int32, next)
	for set, n := range number {
		if n == 0 {
			continue
		}
		frozen[n] = b.sets[set]
		for _, w := range b.sets[set] {
			m.sets[w*m.width+(n>>6)] |= 1 << (n & 63)
		}
	}
	for i := range b.states[0].steps { // the root's sets keep their words
		if w := b.states[0].steps[i].word; w < 0 {
			frozen = append(frozen, b.sets[-w])
			b.states[0].steps[i].word = -int32(len(frozen) - 1)
		}
	}
	b.sets = frozen
}

package config

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

type shape uint8

const (
	shapeInvalid shape = iota // reported already; readers pass over it
	shapeNull
	shapeText
	shapeNumber
	shapeBool
	shapeList
	shapeMapping
)

// node is a value of the file with its place; aliases and merge keys are resolved.
type node struct {
	shape   shape
	pos     position
	text    string // of a scalar: as written, without quotes
	items   []*node
	entries []entry
	weight  int // values in it, itself included, each as often as aliases repeat it
}

// entry is a key with its value.
type entry struct {
	key   string
	pos   position
	value *node
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// describe says what was found, for messages.
func (n *node) describe() string {
	switch n.shape {
	case shapeText:
		return quote(n.text)
	case shapeNumber, shapeBool:
		return clip(n.text)
	case shapeList:
		return "a list"
	case shapeMapping:
		return "a mapping"
	case shapeNull, shapeInvalid:
	}
	return "nothing"
}

// treeBuilder turns the parser's tree into nodes.
type treeBuilder struct {
	*reader
	where    map[*token.Token]position
	anchors  map[string]*node
	expanded int // values that aliases have repeated so far
}

func newTreeBuilder(r *reader, where map[*token.Token]position) *treeBuilder {
	return &treeBuilder{reader: r, where: where, anchors: map[string]*node{}}
}

// build returns the node of n. A value that is left out stands at fallback.
// The recursion ends because parse has bounded the depth.
func (b *treeBuilder) build(n ast.Node, fallback position) *node {
	switch n := n.(type) {
	case nil:
		return scalar(shapeNull, "", fallback)
	case *ast.MappingNode:
		return b.mapping(n, fallback)
	case *ast.SequenceNode:
		return b.list(n, fallback)
	case *ast.AnchorNode:
		return b.anchor(n, fallback)
	case *ast.AliasNode:
		return b.alias(n)
	case *ast.TagNode:
		at := positionOf(n.Start, b.where, fallback)
		b.addf(at, "tag %s is not used here; remove it", quote(n.Start.Value))
		return &node{pos: at}
	case *ast.LiteralNode:
		return scalar(shapeText, n.Value.Value, positionOf(n.Start, b.where, fallback))
	case *ast.StringNode:
		return scalar(shapeText, n.Value, positionOf(n.Token, b.where, fallback))
	case *ast.BoolNode:
		return scalar(shapeBool, n.Token.Value, positionOf(n.Token, b.where, fallback))
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(shapeNumber, n.GetToken().Value, positionOf(n.GetToken(), b.where, fallback))
	case *ast.NullNode:
		at, written := b.where[n.Token]
		if !written {
			at = fallback
		}
		return scalar(shapeNull, "", at)
	}
	b.addf(fallback, "not valid YAML here: unexpected %s", n.Type())
	return &node{pos: fallback}
}

func scalar(s shape, text string, at position) *node {
	return &node{shape: s, text: text, pos: at, weight: 1}
}

func (b *treeBuilder) list(n *ast.SequenceNode, fallback position) *node {
	out := &node{shape: shapeList, pos: positionOf(n.Start, b.where, fallback), weight: 1}
	for i, item := range n.Values {
		at := out.pos
		if i < len(n.Entries) {
			at = positionOf(n.Entries[i].Start, b.where, at)
		}
		child := b.build(item, at)
		out.items = append(out.items, child)
		out.weight += child.weight
	}
	return out
}

func (b *treeBuilder) mapping(n *ast.MappingNode, fallback position) *node {
	out := &node{shape: shapeMapping, pos: positionOf(firstToken(n), b.where, fallback), weight: 1}
	lines := map[string]int{}
	var merged []*node
	for _, v := range n.Values {
		at := positionOf(v.Key.GetToken(), b.where, out.pos)
		child := b.build(v.Value, at)
		out.weight += child.weight
		if v.Key.IsMergeKey() {
			merged = append(merged, child)
			continue
		}
		key, ok := keyText(v.Key)
		if !ok {
			b.addf(at, "a key must be a plain word here, without %s", quote(v.Key.GetToken().Value))
			continue
		}
		if line, taken := lines[key]; taken {
			b.addf(at, "duplicate key %s, already set on line %d; remove one of them", quote(key), line)
			continue
		}
		lines[key] = at.line
		out.entries = append(out.entries, entry{key, at, child})
	}
	b.merge(out, lines, merged)
	return out
}

// firstToken returns the token that n starts with. To the parser a mapping
// without brackets starts with its first colon.
func firstToken(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

// merge adds the entries of `<<` keys; those written in the mapping itself win, then the first.
func (b *treeBuilder) merge(into *node, taken map[string]int, sources []*node) {
	for _, source := range sources {
		switch source.shape {
		case shapeInvalid:
		case shapeList:
			b.merge(into, taken, source.items)
		case shapeMapping:
			for _, e := range source.entries {
				if _, ok := taken[e.key]; !ok {
					taken[e.key] = e.pos.line
					into.entries = append(into.entries, e)
				}
			}
		default:
			b.addf(source.pos, "<< must be an alias of a mapping such as *base, found %s", source.describe())
		}
	}
}

func (b *treeBuilder) anchor(n *ast.AnchorNode, fallback position) *node {
	name := n.Name.GetToken().Value
	// Until its value is built the name is free, so no value can hold itself.
	delete(b.anchors, name)
	child := b.build(n.Value, fallback)
	b.anchors[name] = child
	return child
}

func (b *treeBuilder) alias(n *ast.AliasNode) *node {
	at := positionOf(n.Start, b.where, start)
	name := n.Value.GetToken().Value
	target, ok := b.anchors[name]
	if !ok {
		b.addf(at, "alias *%s has no anchor &%s above it", clip(oneLine(name)), clip(oneLine(name)))
		return &node{pos: at}
	}
	b.expanded += target.weight
	if b.expanded > maxExpanded {
		b.addf(at, "aliases repeat more than %d values; write the values out or use fewer aliases", maxExpanded)
		return &node{pos: at}
	}
	return target
}

// keyText returns a key as written. Null, tagged, anchored and explicit ("? ") keys have none.
func keyText(key ast.MapKeyNode) (string, bool) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return k.GetToken().Value, true
	}
	return "", false
}

package yamlfile

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Shape is the type of a value.
type Shape uint8

// The shapes.
const (
	Invalid Shape = iota // a value whose problem was reported already, so that readers skip the value
	Null
	Text
	Number
	Bool
	List
	Mapping
)

// Node is a value of the file with its position. Aliases and merge keys are resolved.
type Node struct {
	Shape   Shape
	Pos     Position
	Text    string // the text of a scalar as it is written in the file, without quotes
	Items   []*Node
	Entries []Entry
	weight  int // number of values in the node, including the node; a value behind aliases counts once for each alias
}

// Entry is a key and its value.
type Entry struct {
	Key   string
	Pos   Position
	Value *Node
}

// Get returns the value of a key, or nil if the mapping does not have the key.
func (n *Node) Get(key string) *Node {
	for _, e := range n.Entries {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// Describe describes the value for messages.
func (n *Node) Describe() string {
	switch n.Shape {
	case Text:
		return Quote(n.Text)
	case Number, Bool:
		return Clip(n.Text)
	case List:
		return "a list"
	case Mapping:
		return "a mapping"
	case Null, Invalid:
	}
	return "nothing"
}

// treeBuilder converts the parser's tree to nodes.
type treeBuilder struct {
	*Reader
	where    map[*token.Token]Position
	anchors  map[string]*Node
	expanded int // the number of values that aliases have repeated so far
}

func newTreeBuilder(r *Reader, where map[*token.Token]Position) *treeBuilder {
	return &treeBuilder{Reader: r, where: where, anchors: map[string]*Node{}}
}

// build returns the Node for the parser's node n. An omitted value gets the given position.
// The recursion ends because Parse has limited the depth.
func (b *treeBuilder) build(n ast.Node, fallback Position) *Node {
	switch n := n.(type) {
	case nil:
		return scalar(Null, "", fallback)
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
		b.Addf(at, "tag %s is not used here; remove it", Quote(n.Start.Value))
		return &Node{Pos: at}
	case *ast.LiteralNode:
		return scalar(Text, n.Value.Value, positionOf(n.Start, b.where, fallback))
	case *ast.StringNode:
		return scalar(Text, n.Value, positionOf(n.Token, b.where, fallback))
	case *ast.BoolNode:
		return scalar(Bool, n.Token.Value, positionOf(n.Token, b.where, fallback))
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(Number, n.GetToken().Value, positionOf(n.GetToken(), b.where, fallback))
	case *ast.NullNode:
		at, written := b.where[n.Token]
		if !written {
			at = fallback
		}
		return scalar(Null, "", at)
	}
	b.Addf(fallback, "not valid YAML here: unexpected %s", n.Type())
	return &Node{Pos: fallback}
}

func scalar(s Shape, text string, at Position) *Node {
	return &Node{Shape: s, Text: text, Pos: at, weight: 1}
}

func (b *treeBuilder) list(n *ast.SequenceNode, fallback Position) *Node {
	out := &Node{Shape: List, Pos: positionOf(n.Start, b.where, fallback), weight: 1}
	for i, item := range n.Values {
		at := out.Pos
		if i < len(n.Entries) {
			at = positionOf(n.Entries[i].Start, b.where, at)
		}
		child := b.build(item, at)
		out.Items = append(out.Items, child)
		out.weight += child.weight
	}
	return out
}

func (b *treeBuilder) mapping(n *ast.MappingNode, fallback Position) *Node {
	out := &Node{Shape: Mapping, Pos: positionOf(firstToken(n), b.where, fallback), weight: 1}
	lines := map[string]int{}
	var merged []*Node
	for _, v := range n.Values {
		at := positionOf(v.Key.GetToken(), b.where, out.Pos)
		child := b.build(v.Value, at)
		out.weight += child.weight
		if v.Key.IsMergeKey() {
			merged = append(merged, child)
			continue
		}
		key, ok := keyText(v.Key)
		if !ok {
			b.Addf(at, "a key must be a plain word here, without %s", Quote(v.Key.GetToken().Value))
			continue
		}
		if line, taken := lines[key]; taken {
			b.Addf(at, "duplicate key %s, already set on line %d; remove one of them", Quote(key), line)
			continue
		}
		lines[key] = at.Line
		out.Entries = append(out.Entries, Entry{key, at, child})
	}
	b.merge(out, lines, merged)
	return out
}

// firstToken returns the first token of n. The parser gives a mapping without brackets the
// position of its first colon.
func firstToken(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

// merge adds the entries of `<<` keys to a mapping. If several entries have the same key, the
// mapping's own entry is used; if it has no such entry, the entry of the first source is used.
func (b *treeBuilder) merge(into *Node, taken map[string]int, sources []*Node) {
	for _, source := range sources {
		switch source.Shape {
		case Invalid:
		case List:
			b.merge(into, taken, source.Items)
		case Mapping:
			for _, e := range source.Entries {
				if _, ok := taken[e.Key]; !ok {
					taken[e.Key] = e.Pos.Line
					into.Entries = append(into.Entries, e)
				}
			}
		default:
			b.Addf(source.Pos, "<< must be an alias of a mapping such as *base, found %s", source.Describe())
		}
	}
}

func (b *treeBuilder) anchor(n *ast.AnchorNode, fallback Position) *Node {
	name := n.Name.GetToken().Value
	// The anchor is undefined until its value is built, so that no value can contain itself.
	delete(b.anchors, name)
	child := b.build(n.Value, fallback)
	b.anchors[name] = child
	return child
}

func (b *treeBuilder) alias(n *ast.AliasNode) *Node {
	at := positionOf(n.Start, b.where, start)
	name := n.Value.GetToken().Value
	target, ok := b.anchors[name]
	if !ok {
		b.Addf(at, "alias *%s has no anchor &%s above it", Clip(oneLine(name)), Clip(oneLine(name)))
		return &Node{Pos: at}
	}
	b.expanded += target.weight
	if b.expanded > maxExpanded {
		b.Addf(at, "aliases repeat more than %d values; write the values out or use fewer aliases", maxExpanded)
		return &Node{Pos: at}
	}
	return target
}

// keyText returns the text of a key. ok is false if the key is null, tagged, anchored or
// explicit ("? ").
func keyText(key ast.MapKeyNode) (string, bool) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return k.GetToken().Value, true
	}
	return "", false
}

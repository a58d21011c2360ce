package policyfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy"
)

// jobView contains the names that a condition can use.
type jobView struct {
	Kind     string         `expr:"kind"`
	Queue    string         `expr:"queue"`
	Owner    string         `expr:"owner"`
	Priority int            `expr:"priority"`
	Attrs    map[string]any `expr:"attrs"`
}

var viewNames = []string{"attrs", "kind", "owner", "priority", "queue"}

// condition is a compiled expression.
type condition struct {
	text    string // the text in the file
	plain   string // the text in a normal form, for comparison
	program *vm.Program
	attrs   [][]string // the attributes that the condition reads
}

// String implements policy.Condition.
func (c *condition) String() string { return c.text }

// Match implements policy.Condition. If a required attribute is missing, the condition does
// not match, and there is no error. An attribute of a wrong type gives an error.
func (c *condition) Match(a *policy.ConditionInput) (bool, error) {
	out, err := expr.Run(c.program, jobView{a.Kind, a.Queue, a.Owner, a.Priority, a.Values})
	if err != nil {
		if c.misses(a.Values) {
			return false, nil
		}
		return false, fmt.Errorf("%s: %w%s", c.text, firstLine(err), c.types(a.Values))
	}
	matched, ok := out.(bool)
	if !ok && out != nil {
		return false, fmt.Errorf("%s: the condition gave a value of type %T; it must give true or false", c.text, out)
	}
	return matched, nil
}

// misses reports whether an attribute that the condition reads is missing.
func (c *condition) misses(attrs map[string]any) bool {
	for _, path := range c.attrs {
		var at any = attrs
		for _, key := range path {
			object, _ := at.(map[string]any)
			at = object[key]
		}
		if at == nil {
			return true
		}
	}
	return false
}

// types returns the attributes that the condition reads with their types, as text, such as
// "; attrs.pages is a text". The attributes must exist.
func (c *condition) types(attrs map[string]any) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, path := range c.attrs {
		var at any = attrs
		for _, key := range path {
			object, _ := at.(map[string]any)
			at = object[key]
		}
		name := strings.Join(path, ".")
		if seen[name] {
			continue
		}
		seen[name] = true
		kind := "an object"
		switch at.(type) {
		case string:
			kind = "a text"
		case float64:
			kind = "a number"
		case bool:
			kind = "true or false"
		case []any:
			kind = "a list"
		}
		fmt.Fprintf(&b, "; attrs.%s is %s", name, kind)
	}
	return b.String()
}

// firstLine returns an error without the lines that show the place of the mistake in the
// expression.
func firstLine(err error) error {
	if e, ok := errors.AsType[*file.Error](err); ok {
		return errors.New(e.Message)
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}

// mistake is a mistake in a condition, with the position of its character.
type mistake struct {
	offset  int
	message string
}

// compileWhen compiles a condition, or returns the mistake in it.
func compileWhen(text string) (*condition, *mistake) {
	if len(text) > whenLengthMax {
		return nil, &mistake{0, fmt.Sprintf("is longer than %d bytes; split it into several rules", whenLengthMax)}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &mistake{0, `is empty; write a condition such as kind == "render"`}
	}
	config := conf.New(jobView{})
	config.MaxNodes = whenNodesMax
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil, mistakeOf(err)
	}
	c := &condition{text: text}
	if m := c.check(tree.Node); m != nil {
		return nil, m
	}
	c.plain = tree.Node.String()
	options := []expr.Option{expr.Env(jobView{}), expr.AsBool(), expr.Optimize(false), expr.MaxNodes(whenNodesMax), expr.DisableAllBuiltins()}
	for _, name := range functions {
		options = append(options, expr.EnableBuiltin(name))
	}
	if c.program, err = expr.Compile(text, options...); err != nil {
		return nil, mistakeOf(err)
	}
	return c, nil
}

func mistakeOf(err error) *mistake {
	e, ok := errors.AsType[*file.Error](err)
	if !ok {
		return &mistake{0, "is wrong: " + yamlfile.Clip(firstLine(err).Error())}
	}
	if strings.Contains(e.Message, "exceeds maximum allowed nodes") {
		return &mistake{e.From, fmt.Sprintf("has more than %d parts up to here; split it into several rules", whenNodesMax)}
	}
	if strings.HasSuffix(e.Message, "token EOF") || strings.HasPrefix(e.Message, "unexpected end") {
		return &mistake{e.From, "is not complete here"}
	}
	if strings.HasPrefix(e.Message, `unexpected token Operator("=")`) {
		return &mistake{e.From, "is wrong here: = does not compare; write =="}
	}
	return &mistake{e.From, "is wrong here: " + strings.Join(strings.Fields(e.Message), " ")}
}

// functions contains the allowed functions. A call of each function costs as much work as
// reading its argument once.
var functions = []string{"abs", "len", "lower", "trim", "upper"}

// operators contains the allowed operators. Only the range operator is not allowed, because
// a range can be very long.
var operators = []string{
	"==", "!=", "<", ">", "<=", ">=", "and", "&&", "or", "||", "??", "+", "-", "*", "/", "%",
	"in", "contains", "startsWith", "endsWith", "matches",
}

const allowedCure = "; compare with ==, !=, <, <=, >, >=, in, contains, startsWith, endsWith or matches instead"

// check only accepts parts of the language whose cost is limited by the length of the
// expression and of the attributes.
func (c *condition) check(root ast.Node) *mistake {
	w := &costs{condition: c}
	w.node(root)
	return w.found
}

// costs visits the parts of an expression and stops at the first part that is not allowed.
type costs struct {
	*condition
	found *mistake
}

func (w *costs) refuse(n ast.Node, format string, args ...any) {
	if w.found == nil {
		w.found = &mistake{n.Location().From, fmt.Sprintf(format, args...)}
	}
}

func (w *costs) nodes(list ...ast.Node) {
	for _, n := range list {
		w.node(n)
	}
}

func (w *costs) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
	case *ast.IdentifierNode:
		w.identifier(n)
	case *ast.UnaryNode:
		n.Operator = spelling(n.Operator)
		w.node(n.Node)
	case *ast.BinaryNode:
		w.binary(n)
	case *ast.ConditionalNode:
		w.nodes(n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		w.nodes(n.Nodes...)
	case *ast.ChainNode:
		w.node(n.Node)
	case *ast.MemberNode:
		w.member(n)
	case *ast.BuiltinNode:
		if !slices.Contains(functions, n.Name) {
			w.refuse(n, "must not use %s(): its cost is not bounded by the length of the condition; the functions here are %s%s",
				n.Name, suggest.List(functions), allowedCure)
		}
		w.nodes(n.Arguments...)
	case *ast.CallNode:
		w.call(n)
	case *ast.VariableDeclaratorNode:
		w.refuse(n, "must not use \"let\": values that are built from values grow without bound; write the expression out")
	default:
		w.refuse(n, "must not use this: its cost is not bounded by the length of the condition%s", allowedCure)
	}
}

func (w *costs) identifier(n *ast.IdentifierNode) {
	if slices.Contains(viewNames, n.Value) {
		return
	}
	hint := suggest.DidYouMean(n.Value, viewNames)
	if hint == "" {
		hint = fmt.Sprintf("; an attribute is attrs.%s, the other names are kind, owner, priority and queue", n.Value)
	}
	w.refuse(n, "names %s, which is not known%s", yamlfile.Quote(n.Value), hint)
}

func (w *costs) binary(n *ast.BinaryNode) {
	switch {
	case n.Operator == "..":
		w.refuse(n, "must not use a range: it makes a list as long as its numbers say%s", allowedCure)
	case !slices.Contains(operators, n.Operator):
		w.refuse(n, "must not use the operator %s%s", n.Operator, allowedCure)
	case n.Operator == "matches":
		w.matches(n)
	}
	n.Operator = spelling(n.Operator)
	w.nodes(n.Left, n.Right)
}

// spelling returns the usual form of an operator that can be written in two ways.
func spelling(operator string) string {
	switch operator {
	case "&&":
		return "and"
	case "||":
		return "or"
	case "!":
		return "not"
	}
	return operator
}

// matches requires that the pattern is a constant. So the pattern is compiled only once,
// and a mistake in it is found when the file is read.
func (w *costs) matches(n *ast.BinaryNode) {
	pattern, ok := n.Right.(*ast.StringNode)
	if !ok {
		w.refuse(n, "must give \"matches\" a pattern in quotes, which is checked when the file is read")
		return
	}
	if _, err := regexp.Compile(pattern.Value); err != nil {
		w.refuse(n.Right, "has a pattern that is not an RE2 expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	} else if _, err := classify.CompilePattern(pattern.Value); err != nil {
		w.refuse(n.Right, "has %s", err)
	}
}

func (w *costs) call(n *ast.CallNode) {
	if name, ok := n.Callee.(*ast.IdentifierNode); ok {
		hint := suggest.DidYouMean(name.Value, functions)
		if hint == "" {
			hint = "; the functions here are " + suggest.List(functions)
		}
		w.refuse(n, "calls %s, which is not known%s", yamlfile.Quote(name.Value), hint)
		return
	}
	w.refuse(n, "must not call a value; the functions here are %s", suggest.List(functions))
}

// member records the attribute that a part of an expression reads.
func (w *costs) member(n *ast.MemberNode) {
	w.nodes(n.Node, n.Property)
	if path := attrPath(n); len(path) > 0 {
		w.attrs = append(w.attrs, path)
	}
}

// attrPath returns the keys after attrs, or nil if the expression does not read an
// attribute.
func attrPath(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if n.Value == "attrs" {
			return []string{}
		}
	case *ast.ChainNode:
		return attrPath(n.Node)
	case *ast.MemberNode:
		key, ok := n.Property.(*ast.StringNode)
		if path := attrPath(n.Node); ok && path != nil {
			return append(slices.Clip(path), key.Value)
		}
	}
	return nil
}

// when reads a condition.
func (r *reader) when(into *policy.Condition) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Bool { // the YAML value true is a valid condition, so it is read as text
			v.Shape = yamlfile.Text
		}
		var text string
		r.Words(&text)(v)
		if v.Shape != yamlfile.Text {
			return
		}
		c, m := compileWhen(text)
		if m != nil {
			r.Addf(r.Inside(v, min(m.offset, utf8.RuneCountInString(text))), "%s %s", v.Path, m.message)
			*into = &condition{text: text} // a valid condition, so that no further mistake is reported
			return
		}
		*into = c
	}
}

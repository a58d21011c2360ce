package yamlfile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// Parse parses a file into a tree whose root is a mapping. If the file has no such tree, Parse
// adds a problem and returns false.
func (r *Reader) Parse(data []byte) (Value, bool) {
	text, ok := r.text(data)
	if !ok || r.tooBlank(text) {
		return Value{}, false
	}
	r.source = []rune(text)
	file, where, ok := r.syntax(text)
	if !ok {
		return Value{}, false
	}
	body := r.onlyDocument(file, where)
	if body == nil {
		return Value{}, false
	}
	root := newTreeBuilder(r, where).build(body, start)
	switch root.Shape {
	case Mapping:
		return Value{Node: root}, true
	case Null:
		r.empty()
	case Invalid: // the problem is already reported
	default:
		r.Addf(root.Pos, "the file must be a mapping of settings such as %q, found %s", r.about.Example, root.Describe())
	}
	return Value{}, false
}

func (r *Reader) empty() {
	r.Addf(start, "the file is empty; %s", r.about.Start)
}

// syntax runs the YAML parser within the limits. The second result contains the position of each
// token.
func (r *Reader) syntax(text string) (file *ast.File, where map[*token.Token]Position, ok bool) {
	// The YAML parser is third-party code that gets any text: a panic in it must not end the process.
	defer func() {
		if p := recover(); p != nil {
			r.Addf(start, "not valid YAML: the parser failed (%s)", Clip(fmt.Sprint(p)))
			ok = false
		}
	}()
	tokens := scan(text)
	where, stray, complete := locate(text, tokens)
	if len(tokens) > maxTokens {
		r.Addf(positionOf(tokens[maxTokens], where, start), "the file has more than %d keys, values, signs and comments up to here; shorten it", maxTokens)
		return nil, nil, false
	}
	if deep := tooDeep(tokens); deep != nil {
		r.Addf(positionOf(deep, where, start), "nested more than %d levels deep; %s needs at most %d", maxDepth, r.about.Noun, r.about.Depth)
		return nil, nil, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntaxError(err, text, where)
		return nil, nil, false
	}
	if !complete {
		r.invalid(stray, "these characters make no sense")
		return nil, nil, false
	}
	return file, where, true
}

// scan splits text into tokens. It stops after maxTokens tokens, to limit the memory.
func scan(text string) token.Tokens {
	var s scanner.Scanner
	s.Init(text)
	var tokens token.Tokens
	for len(tokens) <= maxTokens {
		batch, err := s.Scan()
		if errors.Is(err, io.EOF) {
			break
		}
		tokens.Add(batch[:min(len(batch), maxTokens+1-len(tokens))]...)
		if err != nil { // stop here, because the last token of the batch is wrong
			break
		}
	}
	return tokens
}

// tooDeep returns the first token that is nested more than maxDepth levels.
func tooDeep(tokens token.Tokens) *token.Token {
	flow := 0
	var columns []int // the columns of the block collections that are open, in ascending order
	for _, t := range tokens {
		col := t.Position.Column
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.MappingValueType:
			if flow == 0 && t.Prev != nil { // the token before t is the key of a mapping
				columns = open(columns, t.Prev.Position.Column)
			}
		case token.SequenceEntryType, token.MappingKeyType:
			columns = open(columns, col)
		}
		if flow+len(columns) > maxDepth {
			return t
		}
	}
	return nil
}

func open(columns []int, col int) []int {
	for len(columns) > 0 && columns[len(columns)-1] >= col {
		columns = columns[:len(columns)-1]
	}
	return append(columns, col)
}

// syntaxError adds a problem at the place where the parser stopped. If a tab is the cause, the
// message says so.
func (r *Reader) syntaxError(err error, text string, where map[*token.Token]Position) {
	at, message := start, ""
	type located interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if detail, ok := errors.AsType[located](err); ok {
		message = detail.GetMessage()
		at = positionOf(detail.GetToken(), where, start)
	} else {
		message = err.Error()
	}
	if tab, found := tabAt(strings.Split(text, "\n"), at); found {
		r.Addf(tab, "a tab cannot stand here; use spaces")
		return
	}
	r.invalid(at, Clip(oneLine(message)))
}

func (r *Reader) invalid(at Position, what string) {
	r.Addf(at, "not valid YAML: %s; check the indentation, quotes and brackets here", what)
}

// tabAt looks for a tab that may be the cause of a syntax error at a position. It looks
// directly before the position, and in the indentation of its line and of the next line,
// because the parser may have read the next line as a part of the same text.
func tabAt(lines []string, at Position) (Position, bool) {
	for n := at.Line; n <= min(at.Line+1, len(lines)); n++ {
		line := lines[n-1]
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if i := strings.IndexByte(indent, '\t'); i >= 0 {
			return Position{n, i + 1}, true
		}
	}
	if at.Line <= len(lines) {
		line := []rune(lines[at.Line-1])
		if before := at.Col - 1; 0 < before && before <= len(line) && line[before-1] == '\t' {
			return Position{at.Line, before}, true
		}
	}
	return Position{}, false
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// onlyDocument returns the body of the file's only document, or nil if the file has no
// document. It adds a problem if there are several documents.
func (r *Reader) onlyDocument(file *ast.File, where map[*token.Token]Position) ast.Node {
	var only *ast.DocumentNode
	for _, doc := range file.Docs {
		if _, isDirective := doc.Body.(*ast.DirectiveNode); isDirective {
			continue
		}
		if only != nil {
			first := doc.Start
			if first == nil && doc.Body != nil {
				first = firstToken(doc.Body)
			}
			r.Addf(positionOf(first, where, start), "a second document starts here; keep one document in the file")
			return nil
		}
		only = doc
	}
	if only == nil || only.Body == nil {
		r.empty()
		return nil
	}
	return only.Body
}

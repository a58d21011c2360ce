package sqlstore

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Query names a statement. The text of the statement is in the file statements.sql of each store, in the SQL dialect
// of its database.
type Query struct {
	Name string
	// Walk is true when the reader usually stops long before the last row or the LIMIT
	// is reached.
	Walk bool
	// Text is the statement itself, of a test or of a test's helper. It is empty for statements of a file.
	Text string
}

// asked holds all statements that this package asks for, by name. It is filled when the package's variables are
// initialised and does not change later.
var asked = make(map[string]*Query)

// ask names a statement that each store answers.
func ask(name string) *Query { return keep(&Query{Name: name}) }

// askWalk names a statement whose reader usually stops before the last row.
func askWalk(name string) *Query { return keep(&Query{Name: name, Walk: true}) }

func keep(q *Query) *Query {
	if asked[q.Name] != nil {
		panic("sqlstore: two statements are named " + q.Name)
	}
	asked[q.Name] = q
	return q
}

// Asked returns all statements that this package asks for, with their names, in no particular order. Those that are
// marked as own in the file of one store are asked for in that store only.
func Asked() iter.Seq2[string, *Query] { return maps.All(asked) }

// Statement returns the statement with the given name. It panics if there is no such
// statement.
func Statement(name string) *Query {
	q := asked[name]
	if q == nil {
		panic(fmt.Sprintf("sqlstore: no statement is named %q", name))
	}
	return q
}

// Text is a statement of a store's file.
type Text struct {
	SQL string
	Own bool // whether the other store has no statement of this name
	// Overtaken says that the last column tells whether a later transaction has written the row.
	Overtaken bool
}

// Texts are the statements of one store, by name.
type Texts map[string]Text

// ParseTexts reads a file of statements. A line "-- name: X" begins the statement X; marks such as ":own" may follow
// the name. Comment lines and empty lines between the name and the text are not part of the text. The text ends with
// a semicolon. What stands before the first name, and comments between statements, are for readers only.
func ParseTexts(file string) (Texts, error) {
	all := make(Texts)
	var name string
	var t Text
	var lines []string
	for i, line := range strings.Split(file, "\n") {
		title, begins := strings.CutPrefix(line, "-- name: ")
		switch {
		case begins && name != "":
			return nil, fmt.Errorf("line %d: the statement %q does not end with a semicolon", i+1, name)
		case begins:
			words := strings.Fields(title)
			if len(words) == 0 {
				return nil, fmt.Errorf("line %d: the statement has no name", i+1)
			}
			name, t, lines = words[0], Text{Own: slices.Contains(words, ":own"), Overtaken: slices.Contains(words, ":overtaken")}, nil
			for _, mark := range words[1:] {
				if mark != ":own" && mark != ":overtaken" {
					return nil, fmt.Errorf("line %d: the mark %q is unknown", i+1, mark)
				}
			}
			if _, twice := all[name]; twice {
				return nil, fmt.Errorf("line %d: two statements are named %q", i+1, name)
			}
		case strings.HasPrefix(line, "--") || line == "":
		case name == "":
			return nil, fmt.Errorf("line %d: this text belongs to no statement", i+1)
		default:
			text, ends := strings.CutSuffix(line, ";")
			lines = append(lines, text)
			if ends {
				t.SQL = strings.Join(lines, "\n")
				all[name] = t
				name = ""
			}
		}
	}
	if name != "" {
		return nil, fmt.Errorf("the statement %q does not end with a semicolon", name)
	}
	return all, nil
}

// MustParseTexts is ParseTexts for a file that is part of the program.
func MustParseTexts(file string) Texts {
	all, err := ParseTexts(file)
	if err != nil {
		panic("sqlstore: " + err.Error())
	}
	return all
}

// Of returns the text of a statement. It panics if the store has no such statement: a test of each store compares its file with what is
// asked for.
func (t Texts) Of(q *Query) string {
	if q.Text != "" {
		return q.Text
	}
	text, ok := t[q.Name]
	if !ok {
		panic(fmt.Sprintf("sqlstore: the store has no statement %q", q.Name))
	}
	return text.SQL
}

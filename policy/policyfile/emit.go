package policyfile

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/redrive/redrive/internal/yamlfile"
)

// emitter writes items as YAML.
type emitter struct{ strings.Builder }

func (e *emitter) mapping(items []item, indent string) {
	for n, i := range items {
		if indent == "" && n > 0 && (i.block() || items[n-1].block() || i.comment != "") {
			e.WriteByte('\n')
		}
		e.comment(i.comment, indent)
		e.WriteString(indent + keyOf(i.key) + ":")
		e.value(i, indent)
	}
}

// value writes the value that follows a key or a dash.
func (e *emitter) value(i item, indent string) {
	switch {
	case !i.block():
		e.WriteString(" ")
		e.inline(i, i.shape == yamlfile.Text)
		e.WriteByte('\n')
	case i.shape == yamlfile.Mapping:
		e.WriteByte('\n')
		e.mapping(i.items, indent+"  ")
	default:
		e.WriteByte('\n')
		for _, entry := range i.items {
			e.entry(entry, indent+"  ")
		}
	}
}

// entry writes an entry of a list. The first key of a mapping is on the same line as the
// dash.
func (e *emitter) entry(i item, indent string) {
	e.comment(i.comment, indent)
	if !i.block() {
		e.WriteString(indent + "-")
		e.value(i, indent)
		return
	}
	var inner emitter
	inner.mapping(i.items, indent+"  ")
	text := inner.String()
	if !strings.HasPrefix(strings.TrimLeft(text, " "), "#") {
		text = indent + "- " + text[len(indent)+2:]
	} else {
		text = indent + "-\n" + text
	}
	e.WriteString(text)
}

// block reports whether an item is written on several lines.
func (i *item) block() bool {
	return (i.shape == yamlfile.Mapping || i.shape == yamlfile.List) && !i.inline && len(i.items) > 0
}

func (e *emitter) comment(text, indent string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(text) {
		e.WriteString(indent + strings.TrimRight("# "+line, " \n") + "\n")
	}
}

// inline writes an item on one line. The second argument is true outside of brackets, where
// fewer texts need quotes.
func (e *emitter) inline(i item, alone bool) {
	opening, closing := "{", "}"
	switch i.shape {
	case yamlfile.List:
		opening, closing = "[", "]"
	case yamlfile.Mapping:
	default:
		e.WriteString(scalar(i, alone))
		return
	}
	e.WriteString(opening)
	for n, child := range i.items {
		if n > 0 {
			e.WriteString(", ")
		}
		if i.shape == yamlfile.Mapping {
			e.WriteString(keyOf(child.key) + ": ")
		}
		e.inline(child, false)
	}
	e.WriteString(closing)
}

var (
	// plainWord matches texts that YAML reads as text everywhere.
	plainWord = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_./%+-]*(?: [A-Za-z0-9_./%+-]+)*|[0-9.]+%|[0-9]+d|(?:[0-9]+d)?(?:[0-9]+(?:\.[0-9]+)?(?:h|m|s|ms|µs|ns))+)$`)
	// plainText matches texts that YAML reads as text after a key, unless they contain a
	// colon before a space or a hash after a space.
	plainText = regexp.MustCompile(`^[A-Za-z][ -~]*[!-9;-~]$`)
	// reserved matches the words that some YAML readers read as a value of another type.
	reserved = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null|nan|inf)$`)
	// numeric matches texts that some YAML readers read as a number.
	numeric = regexp.MustCompile(`^[0-9][0-9_.]*(?:[eE][0-9+-]*)?$`)
)

func scalar(i item, alone bool) string {
	if i.shape != yamlfile.Text {
		return i.text
	}
	switch {
	case reserved.MatchString(i.text) && i.text != "off", numeric.MatchString(i.text): // YAML 1.2 reads "off" as text, and policy files use this word
		return quoted(i.text)
	case plainWord.MatchString(i.text):
		return i.text
	case alone && plainText.MatchString(i.text) && !strings.Contains(i.text, ": ") && !strings.Contains(i.text, " #"):
		return i.text
	}
	return quoted(i.text)
}

func keyOf(key string) string {
	if plainWord.MatchString(key) && !reserved.MatchString(key) && !numeric.MatchString(key) {
		return key
	}
	return quoted(key)
}

// quoted writes a text as a JSON string, which is also valid YAML.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("policyfile: a text can always be encoded: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Package lines tells what each line of the output of a program is: a frame of a stack, a setting, a footer, or a line
// that says what went wrong. In comes the output as text; out go lines, their kinds and, in steps of the weights of evidence,
// what a line takes from evidence in it. It must never know classes, rules or errors: it goes by the form of a line and by words of failure alone.
package lines

import (
	"strings"

	"github.com/redrive/redrive/internal/phrase"
)

// Cause returns the line of a program's output that says best what went wrong, without the help
// of rules. It is the last line that speaks of a failure. If no line does, it is the first line
// that is not a frame, a banner or a known footer. It returns "" if all lines are empty.
func Cause(text string) string {
	best, found := Empty, ""
	frame := frames{}
	for rest := text; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		worth := frame.worth(line, rest)
		if worth > best || worth == best && worth >= Tells {
			best, found = worth, line
		}
	}
	return strings.TrimSpace(found)
}

// At returns the line of a text around an offset, and what it is.
func At(text string, at int) (string, Kind) {
	frame := frames{}
	for rest := text; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		worth := frame.worth(line, rest)
		if at < len(text)-len(rest) {
			return strings.TrimSpace(line), worth
		}
	}
	return "", Empty
}

// frames remembers what the lines before tell about the next one.
type frames struct {
	source bool // a line of the source follows: the last line was a Python frame or a place
	placed bool // the last line was a place, whose line of source is not indented
	trace  bool // the error follows, after frames or a line of the source that are above it
	stack  bool // the last lines were frames of a numbered stack
	dump   bool // the properties of an error follow, as Node prints them
}

// worth returns what a line is. The rest is the text after it.
func (f *frames) worth(line, rest string) Kind {
	text := strings.TrimSpace(line)
	if !strings.ContainsFunc(text, isLetterOrNumber) {
		return Empty
	}
	indented := line[0] == ' ' || line[0] == '\t'
	source := f.source && (indented || f.placed) // code without a file, as python -c runs it, has no line of source
	worth, isFrame := Worth(line[:min(len(line), phrase.LineMax)], source, false)
	place := isPlace(text)
	f.source, f.placed = isFrame || place, place
	f.trace = f.trace || place || strings.HasPrefix(text, "Traceback (most recent") || strings.Contains(text, "panicked at ") && strings.HasSuffix(text, ":")
	dump := f.dump && indented
	f.dump = dump || text != "{" && strings.HasSuffix(text, " {")
	stack := f.stack
	f.stack = false
	switch {
	case worth <= -Noise, source && !isFrame, place, indented && strings.HasPrefix(text, "at "), strings.HasPrefix(text, "+ "), isGoFrame(text, rest),
		isRegister(text), strings.Contains(text, "panicked at ") && strings.HasSuffix(text, ":"), dump && isProperty(text):
		return Frame
	case isNumbered(text) && (stack || indented || strings.Contains(text, " 0x")):
		f.stack = true
		return Frame
	case isFooter(text):
		f.stack = text == "stack backtrace:"
		return Footer
	case f.trace && !indented:
		f.trace = false
		return Heads
	case worth < 0, strings.Contains(text, "Warning:"), strings.Contains(text, "warning:"):
		return Aside
	}
	return wordsOfFailure(text)
}

func isLetterOrNumber(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0xAA
}

// isGoFrame reports whether the next line is the place of a function of Go.
func isGoFrame(text, rest string) bool {
	return strings.HasSuffix(text, ")") && strings.HasPrefix(rest, "\t") && strings.Contains(rest[:min(len(rest), phrase.LineMax)], ".go:")
}

// isRegister reports whether a line shows a register of the processor, as Go does after a
// signal.
func isRegister(text string) bool {
	name, value, ok := strings.Cut(text, " ")
	return ok && len(name) <= 6 && strings.HasPrefix(strings.TrimSpace(value), "0x") && !strings.Contains(strings.TrimSpace(value), " ")
}

// isPlace reports whether a line is only a place in a source, as Node writes it above the line
// of the source: /app/main.js:3.
func isPlace(text string) bool {
	file, number, ok := cutLast(text, ":")
	return ok && number != "" && strings.Trim(number, "0123456789") == "" && !strings.ContainsAny(file, " \t") &&
		(strings.HasPrefix(file, "/") || strings.HasPrefix(file, "file:") || strings.HasPrefix(file, "node:") || strings.Contains(file, ":\\"))
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// isNumbered reports whether a line is a frame with its number, as PHP ("#0 /app/x.php(3)"),
// Rust and V8 ("12: core::panicking") write it.
func isNumbered(text string) bool {
	digits := strings.TrimLeft(strings.TrimPrefix(text, "#"), "0123456789")
	n := len(strings.TrimPrefix(text, "#")) - len(digits)
	if n == 0 || n > 4 {
		return false
	}
	if text[0] == '#' {
		return strings.HasPrefix(digits, " ")
	}
	return strings.HasPrefix(digits, ": ")
}

// isProperty reports whether a line is a property of an error, such as "code: 'ENOENT',".
func isProperty(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	return ok && strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789'\"") == ""
}

package demo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Screen describes the terminal, if the output is written to one.
type Screen struct {
	Terminal      bool
	Color         bool
	Columns, Rows int // size of the terminal; 0 if it is not known
}

// view writes lines that stay on the screen. On a terminal, it also keeps a block of lines
// below them that changes.
type view struct {
	out    io.Writer
	screen Screen
	height int // the number of lines of the block that is on the screen
}

// say writes lines that stay on the screen, above the block.
func (v *view) say(lines ...string) {
	var b bytes.Buffer
	v.back(&b)
	for _, line := range lines {
		b.WriteString(line + v.toEnd() + "\n")
	}
	v.height = 0
	v.rest(&b)
	_, _ = v.out.Write(b.Bytes())
}

// draw replaces the block. It writes once, so that the block does not flicker. If there is
// no terminal, it does nothing.
func (v *view) draw(lines []string) {
	if !v.screen.Terminal {
		return
	}
	if rows := v.screen.Rows; rows > 1 && len(lines) > rows-1 {
		lines = lines[:rows-1]
	}
	var b bytes.Buffer
	v.back(&b)
	for _, line := range lines {
		b.WriteString(line + v.toEnd() + "\n")
	}
	v.height = len(lines)
	v.rest(&b)
	_, _ = v.out.Write(b.Bytes())
}

// back moves the cursor to the first line of the block.
func (v *view) back(b *bytes.Buffer) {
	if v.screen.Terminal && v.height > 0 {
		fmt.Fprintf(b, "\x1b[%dA\r", v.height)
	}
}

// toEnd returns the sequence that clears the rest of the line.
func (v *view) toEnd() string {
	if v.screen.Terminal {
		return "\x1b[K"
	}
	return ""
}

func (v *view) rest(b *bytes.Buffer) {
	if v.screen.Terminal {
		b.WriteString("\x1b[J")
	}
}

// columns returns the largest allowed width of a line.
func (v *view) columns() int {
	if v.screen.Columns > 1 {
		return v.screen.Columns - 1 // the terminal may wrap a line that has its full width
	}
	return 100
}

// span is a part of a line in one colour. If paint is nil, the part has no colour.
type span struct {
	paint func(string) string
	text  string
}

// row joins the parts of a line and cuts it to the width of the terminal.
func (v *view) row(spans ...span) string {
	var line strings.Builder
	left := v.columns()
	for _, s := range spans {
		text := fit(s.text, left)
		left -= utf8.RuneCountInString(text)
		if s.paint != nil {
			text = s.paint(text)
		}
		line.WriteString(text)
	}
	return line.String()
}

func (v *view) paint(code, text string) string {
	if !v.screen.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (v *view) bold(text string) string   { return v.paint("1", text) }
func (v *view) faint(text string) string  { return v.paint("2", text) }
func (v *view) red(text string) string    { return v.paint("31", text) }
func (v *view) green(text string) string  { return v.paint("32", text) }
func (v *view) yellow(text string) string { return v.paint("33", text) }

// fit removes control characters from a text and cuts it to a width in columns.
func fit(text string, columns int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if columns < 1 {
		return ""
	}
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-1]) + "…"
}

// wrap breaks a text into indented lines with at most the given number of columns.
func wrap(text, indent string, columns int) (lines []string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns && line != indent {
			lines = append(lines, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// style says how output is written to a stream. Only a terminal has colours and a width.
type style struct {
	terminal bool
	color    bool
	columns  int // width of the terminal; 0 if not known
}

// styleOf returns the style of a stream. Colours are off if $NO_COLOR is set (no-color.org)
// or the terminal is dumb.
func (a *app) styleOf(w io.Writer) style {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return style{}
	}
	s := style{terminal: true, color: a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"}
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.columns = columns
	}
	return s
}

func (s style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string   { return s.paint("1", text) }
func (s style) faint(text string) string  { return s.paint("2", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }

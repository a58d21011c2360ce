package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/redrive/redrive/internal/words"
)

// column is one column of a table.
type column struct {
	title string
	right bool // whether the column is aligned right, as numbers are
	loose bool // whether this column is shortened if the terminal is too narrow
}

// table prints aligned rows below column titles, and escapes control characters. If the
// number of columns is 0 (no terminal), nothing is shortened.
type table struct {
	columns  []column
	rows     [][]string
	untitled bool // whether no titles are printed, because the rows continue a printed table
}

const columnGap = "  "

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = words.Clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print(w io.Writer, terminal style) {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = words.Width(c.title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], words.Width(row[i]))
		}
	}
	t.squeeze(widths, terminal.columns)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	if !t.untitled {
		fmt.Fprintln(w, terminal.faint(t.line(titles, widths)))
	}
	for _, row := range t.rows {
		fmt.Fprintln(w, t.line(row, widths))
	}
}

// squeeze shortens the column marked loose until each row fits into the width of the
// terminal.
func (t *table) squeeze(widths []int, columns int) {
	if columns == 0 {
		return
	}
	total := (len(widths) - 1) * len(columnGap)
	for _, w := range widths {
		total += w
	}
	const least = 12
	for i, c := range t.columns {
		if c.loose && total > columns {
			widths[i] = max(least, widths[i]-(total-columns))
		}
	}
}

func (t *table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString(columnGap)
		}
		cell = words.Shorten(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-words.Width(cell))
		if t.columns[i].right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

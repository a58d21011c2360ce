package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/words"
)

// column is one column of a table.
type column struct {
	title string
	right bool // whether the column is aligned right, as numbers are
	loose bool // whether this column is shortened if the terminal is too narrow
	// own says that the column, the last one, has a line of its own below the row if it would lose more
	// than half of its width.
	own bool
	// spare is above 0 if a terminal that is too narrow leaves the column out, the smallest number first.
	spare int
	below bool // whether a column that is left out stands at the beginning of the line below, if there is one
}

// table prints aligned rows below column titles, and escapes control characters. If the
// number of columns is 0 (no terminal), nothing is shortened.
type table struct {
	columns  []column
	rows     [][]string
	untitled bool // whether no titles are printed, because the rows continue a printed table
}

const (
	columnGap = "  "
	// looseLeast is the width to which a loose column is shortened at most.
	looseLeast = 12
)

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = words.Clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print(w io.Writer, terminal style) {
	widths := make([]int, len(t.columns))
	for i := range widths {
		widths[i] = t.width(i)
	}
	shown, below := t.arrange(widths, terminal.columns)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	if !t.untitled {
		fmt.Fprintln(w, terminal.faint(t.line(titles, shown, widths)))
	}
	for _, row := range t.rows {
		fmt.Fprintln(w, t.line(row, shown, widths))
		if text := lineBelow(row, below, terminal.columns); text != "" {
			fmt.Fprintln(w, text)
		}
	}
}

// width returns the width that a column needs.
func (t *table) width(i int) int {
	width := words.Width(t.columns[i].title)
	for _, row := range t.rows {
		width = max(width, words.Width(row[i]))
	}
	return width
}

// arrange shortens loose columns until each row fits into the width of the terminal. It returns the
// columns of the row and those of the line below, which is empty if the row fits.
func (t *table) arrange(widths []int, columns int) (shown, below []int) {
	for i := range t.columns {
		shown = append(shown, i)
	}
	last := len(t.columns) - 1
	missing := spread(shown, widths) - columns
	switch c := t.columns[last]; {
	case columns == 0 || missing <= 0:
		return shown, nil
	case c.loose && (!c.own || widths[last]-missing >= max(looseLeast, widths[last]/2)):
		t.squeeze(shown, widths, columns)
		return shown, nil
	case c.own:
		shown, below = shown[:last], []int{last}
	}
	for spread(shown, t.squeezed(widths)) > columns {
		spare := t.spare(shown)
		if spare < 0 {
			break
		}
		if c := shown[spare]; t.columns[c].below && below != nil {
			below = append(below, c)
		}
		shown = slices.Delete(shown, spare, spare+1)
	}
	slices.Sort(below)
	t.squeeze(shown, widths, columns)
	return shown, below
}

// squeezed returns the widths with each loose column at half of its width.
func (t *table) squeezed(widths []int) []int {
	widths = slices.Clone(widths)
	for i, c := range t.columns {
		if c.loose {
			widths[i] = min(widths[i], max(widths[i]/2, looseLeast, words.Width(c.title)))
		}
	}
	return widths
}

// spare returns which of the shown columns is left out first, or -1.
func (t *table) spare(shown []int) int {
	spares := slices.DeleteFunc(slices.Clone(shown), func(c int) bool { return t.columns[c].spare == 0 })
	if len(spares) == 0 {
		return -1
	}
	return slices.Index(shown, slices.MinFunc(spares, func(a, b int) int { return cmp.Compare(t.columns[a].spare, t.columns[b].spare) }))
}

// squeeze shortens the loose columns of a row until it fits.
func (t *table) squeeze(shown, widths []int, columns int) {
	for _, c := range shown {
		if total := spread(shown, widths); t.columns[c].loose && total > columns {
			widths[c] = max(looseLeast, widths[c]-(total-columns))
		}
	}
}

// spread returns the width of a row.
func spread(shown, widths []int) int {
	total := (len(shown) - 1) * len(columnGap)
	for _, c := range shown {
		total += widths[c]
	}
	return total
}

func (t *table) line(cells []string, shown, widths []int) string {
	var b strings.Builder
	for i, c := range shown {
		if i > 0 {
			b.WriteString(columnGap)
		}
		cell := words.Shorten(cells[c], widths[c])
		pad := strings.Repeat(" ", widths[c]-words.Width(cell))
		if t.columns[c].right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// lineBelow returns the line below a row. The last cell is cut in its middle if it is too long, because
// what tells two causes apart is often at their ends.
func lineBelow(cells []string, below []int, columns int) string {
	var b strings.Builder
	for i, c := range below {
		cell := cells[c]
		if cell == "" || cell == "-" {
			continue
		}
		b.WriteString(columnGap)
		if i == len(below)-1 {
			cell = middleCut(cell, max(columns-words.Width(b.String()), looseLeast))
		}
		b.WriteString(cell)
	}
	return b.String()
}

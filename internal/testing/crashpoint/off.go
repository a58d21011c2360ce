//go:build !crashpoint

package crashpoint

// Enabled reports whether the program was built with the tag "crashpoint".
const Enabled = false

// Hit does nothing in a build without the tag.
func Hit(Point) {}

// Span does nothing in a build without the tag, and neither does the function that it returns.
func Span(Point) (end func()) { return nothing }

func nothing() {}

//go:build !crashpoint

package crashpoint

// Enabled says whether the program was built with the tag "crashpoint".
const Enabled = false

// Hit kills the process when its time at the point has come.
func Hit(Point) {}

// Span begins a span of time in which the process may be killed; the returned
// function ends it.
func Span(Point) (end func()) { return nothing }

func nothing() {}

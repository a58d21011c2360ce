package policy

import (
	"fmt"
	"strings"
)

// weighed says how sure the verdict is, and what weighed for and against the class.
func (r *Record) weighed() string {
	g := r.Weighing
	if g == nil {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%d %% sure", g.Sure)
	for _, side := range []struct {
		name string
		all  []WeightRecord
	}{{"for", g.For}, {"against", g.Against}} {
		parts := make([]string, len(side.all))
		for i, w := range side.all {
			parts[i] = fmt.Sprintf("%q %.1f", w.What, float64(w.Points)/100)
		}
		if len(parts) > 0 {
			s.WriteString("; " + side.name + " it: " + strings.Join(parts, ", "))
		}
	}
	return s.String() + " (weights " + g.Weights + ")"
}

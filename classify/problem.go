package classify

import (
	"fmt"

	"github.com/redrive/redrive/failure"
)

// Problem is a mistake in rules: where, such as "phrases[2].match", and what.
type Problem struct{ Path, Message string }

type problems []Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{path, fmt.Sprintf(format, args...)})
}

func (p *problems) tooMany(list string, n, limit int) {
	if n > limit {
		p.add(list, "%d entries: at most %d are allowed", n, limit)
	}
}

// need checks what every rule must have.
func (p *problems) need(list string, i int, field, value string, class failure.Class) {
	if value == "" {
		p.add(fmt.Sprintf("%s[%d].%s", list, i, field), "is empty: say what to look for")
	}
	if class == "" {
		p.add(fmt.Sprintf("%s[%d].class", list, i), "is empty: say which class it means")
	}
	if len(class) > failure.CodeMax {
		p.add(fmt.Sprintf("%s[%d].class", list, i), "a class of %d bytes: at most %d are allowed", len(class), failure.CodeMax)
	}
}

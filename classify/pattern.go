package classify

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// PatternSteps bounds the compiled size of a regular expression, in instructions.
// RE2 is linear in the text, but each byte costs up to one step an instruction:
// "(a?b?c?){90}" is short, and searches 64 KiB for seconds.
const PatternSteps = 400

// CompilePattern compiles a regular expression (RE2) whose cost is bounded: at most
// PatternSteps instructions. The error says what is wrong with another one.
func CompilePattern(expr string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(expr)
	if e, ok := errors.AsType[*syntax.Error](err); ok && e.Code == syntax.ErrInvalidPerlOp {
		return nil, fmt.Errorf("%s is not in RE2, the language of patterns: it has no look-ahead, look-behind or atomic groups; write the alternatives, "+
			"or use a phrase", e.Expr)
	}
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(prog.Inst); n > PatternSteps {
		return nil, fmt.Errorf("a pattern of %d steps: at most %d are allowed, because each byte of a text may cost so many; "+
			"shorten its repetitions", n, PatternSteps)
	}
	return re, nil
}

package selfbench

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/redrive/redrive/failure"
)

// The figures are of failures of many kinds, each of which says what it is.
func TestJudgedFailuresAreOfManyClasses(t *testing.T) {
	t.Parallel()
	j := newJudge()
	classes := map[failure.Class]bool{}
	for i, err := range j.texts {
		c := j.inputs[i].Class
		classes[c.Class] = true
		if n := len(err.Error()); n < 180 || n > 240 || c.Class == failure.UnknownError {
			t.Errorf("%d bytes, class %s: %s", n, c.Class, err)
		}
	}
	if len(classes) < 4 {
		t.Errorf("classes %v", classes)
	}
	for _, err := range j.errs {
		e := failure.Of(err)
		if c := j.policy.Classify(&e, judgeKind); e.Errno != "ECONNRESET" || c.Class != failure.NetworkTimeout && c.Class != failure.TemporaryServiceError {
			t.Errorf("%s: errno %q, class %s", err, e.Errno, c.Class)
		}
	}
	if n := len(j.giant.Error()); n != judgeHuge {
		t.Errorf("the long text has %d bytes", n)
	}
}

func TestJudgementFigures(t *testing.T) { // alone: allocations are counted
	var out bytes.Buffer
	p := printer{out: json.NewEncoder(&out)}
	if err := (&bencher{}).judgementFigures(context.Background(), &p); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	for range p.printed {
		var f Figure
		if err := d.Decode(&f); err != nil {
			t.Fatal(err)
		}
		if f.Unit == "µs" && (f.Measured <= 0 || f.Measured > 1e6) || f.Unit == "allocations" && !f.Pass {
			t.Errorf("%+v", f)
		}
	}
	if p.printed != 6 {
		t.Errorf("%d figures", p.printed)
	}
}

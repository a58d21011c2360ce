package selfbench

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/redrive/redrive/failure"
)

// The measured failures belong to many classes, and the classifier recognises each of them.
func TestMeasuredFailuresAreOfManyClasses(t *testing.T) {
	t.Parallel()
	j := newFailures()
	classes := map[failure.Class]bool{}
	for i, err := range j.texts {
		c := j.inputs[i].Class
		classes[c.Class] = true
		if n := len(err.Error()); n < 180 || n > 240 || c.Class == failure.UnknownError {
			t.Errorf("an error text has %d bytes and the class %s, want 180 to 240 bytes and a known class: %s", n, c.Class, err)
		}
	}
	if len(classes) < 4 {
		t.Errorf("the measured texts have the classes %v, want at least 4 classes", classes)
	}
	for _, err := range j.errs {
		e := failure.Of(err)
		if c := j.policy.Classify(&e, failureKind); e.Errno != "ECONNRESET" || c.Class != failure.NetworkTimeout && c.Class != failure.TemporaryServiceError {
			t.Errorf("error %s: got errno %q and class %s, want ECONNRESET and a class of connection errors", err, e.Errno, c.Class)
		}
	}
	if n := len(j.giant.Error()); n != hugeText {
		t.Errorf("the long text has %d bytes, want %d", n, hugeText)
	}
}

func TestJudgementFigures(t *testing.T) { // this test is not parallel, because other tests would add allocations
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
			t.Errorf("got the figure %+v, want a duration above 0 and at most 1 s, or a number of allocations that meets its target", f)
		}
	}
	if p.printed != 6 {
		t.Errorf("%d figures were printed, want 6", p.printed)
	}
}

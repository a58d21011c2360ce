package check_test

import (
	"testing"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/store"
)

// part of: M6
func TestM6_WrongFiguresAreFound(t *testing.T) {
	t.Parallel()
	if err := check.Figures(sound(t).Dump, true); err != nil {
		t.Errorf("figures of the sound history: got the error %v, want none", err)
	}
	for what, change := range map[string]func(d *store.Dump){
		"a row is missing":         func(d *store.Dump) { d.Figures = d.Figures[1:] },
		"an attempt counts twice":  func(d *store.Dump) { d.Figures[0].Failed++ },
		"a class counts twice":     func(d *store.Dump) { d.Figures[len(d.Figures)-1].Class("A").Failed++ },
		"a run was longer":         func(d *store.Dump) { d.Figures[len(d.Figures)-1].RunTime++ },
		"a row is of another hour": func(d *store.Dump) { d.Figures[len(d.Figures)-1].At += 3_600_000_000 },
		"an event is missing":      func(d *store.Dump) { d.Events = d.Events[1:] },
	} {
		h := sound(t)
		change(h.Dump)
		if err := check.Figures(h.Dump, true); err == nil {
			t.Errorf("figures when %s: got no error, want an error", what)
		}
	}
}

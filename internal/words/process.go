package words

import (
	"fmt"

	"github.com/redrive/redrive/store"
)

// ProcessState returns the state of a worker in one word.
func ProcessState(p *store.Process) string {
	switch {
	case p.Silent:
		return "silent"
	case p.Quiet:
		return "quiet"
	case len(p.Sick) > 0:
		return "sick"
	case p.Running > 0:
		return "working"
	case p.What == "keep":
		return "keeping"
	}
	return "idle"
}

// ProcessOrder describes a worker after a person has given it an order.
func ProcessOrder(p *store.Process) string {
	gets := fmt.Sprintf(" (it gets this order within %s)", Span(store.PresentEvery))
	if p.Silent {
		gets = " (it is silent, and gets this order when it reports again)"
	}
	switch {
	case !p.Quiet:
		return "claims jobs" + gets
	case p.Running > 0:
		return "claims no jobs, and finishes " + Count(int64(p.Running), "job") + gets
	}
	return "claims no jobs" + gets
}

// ProcessSick describes what a worker cannot start now, one text for each kind.
func ProcessSick(p *store.Process) (texts []string) {
	for _, s := range p.Sick {
		of := "jobs of any kind"
		if s.Kind != "" {
			of = "jobs of kind " + s.Kind
		}
		texts = append(texts, fmt.Sprintf("%s claims no %s, because it cannot start them: %s", Clean(p.Name), of, Clean(s.Cause)))
	}
	return texts
}

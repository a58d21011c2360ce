package selfbench

import (
	"fmt"
	"math"
)

const (
	// soakClaimMost is the highest accepted ratio of the p99 of claims in the last span to
	// the p99 in the first span.
	soakClaimMost = 1.5
	// soakSizeMost is the highest accepted ratio of the database size in the last third of
	// a soak to the size in the middle third. With steady growth from 0 the ratio would be
	// 1.5.
	soakSizeMost = 1.1
)

// verdict returns the figures of a soak, each with its target and whether it meets the
// target.
func (s *Soak) verdict(spans []soakSpan, end *soakEnd) []Figure {
	first, last := &spans[0], &spans[len(spans)-1]
	none := func(what string, n int64, unit string) Figure {
		return Figure{Figure: what, Target: "0", Measured: float64(n), Unit: unit, Pass: n == 0}
	}
	ratio := quotient(float64(last.P99), float64(first.P99))
	figures := []Figure{{
		Figure: fmt.Sprintf("claim p99 of the last %s, %.1f ms, beside the first, %.1f ms", s.span(), milliseconds(last.P99), milliseconds(first.P99)),
		Target: fmt.Sprintf("<= %.1f x", soakClaimMost), Measured: hundredths(ratio), Unit: "x",
		Pass: first.Claims > 0 && last.Claims > 0 && ratio <= soakClaimMost,
	}}
	if s.settles() {
		figures = append(figures, sizeFigure(spans))
	}
	return append(figures,
		none("jobs enqueued that have not ended", int64(len(end.unended)), "jobs"),
		none("jobs ended that nobody enqueued", int64(len(end.unknown)), "jobs"),
		none(fmt.Sprintf("jobs missing: %d enqueued, %d in the store and %d removed", end.enqueued, end.rows, end.swept), end.missing(), "jobs"),
		none("counters that disagree with the rows", int64(len(end.counters)), "counters"),
		none("calls of the store that failed", int64(end.failures), "calls"),
	)
}

// sizeFigure compares the size in the last third with the size in the middle third. The
// limit is higher if the rate of jobs was higher, because then more jobs are kept.
func sizeFigure(spans []soakSpan) Figure {
	n := len(spans)
	middle, last := thirdOf(spans[n/3:n-n/3]), thirdOf(spans[n-n/3:])
	ratio := quotient(float64(last.bytes), float64(middle.bytes))
	allowed := soakSizeMost * max(1, quotient(last.perSecond, middle.perSecond))
	return Figure{
		Figure: fmt.Sprintf("size in the last third, %s, beside the middle one, %s", bytesOf(last.bytes), bytesOf(middle.bytes)),
		Target: fmt.Sprintf("<= %.2f x", allowed), Measured: hundredths(ratio), Unit: "x", Pass: ratio <= allowed,
	}
}

type third struct {
	bytes     int64 // the largest size of the database in bytes
	perSecond float64
}

func thirdOf(spans []soakSpan) (t third) {
	for i := range spans {
		t.bytes = max(t.bytes, spans[i].Size.Bytes)
		t.perSecond += spans[i].perSecond() / float64(len(spans))
	}
	return t
}

// quotient returns a / b, or 0 if b is 0.
func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func hundredths(x float64) float64 { return math.Round(x*100) / 100 }

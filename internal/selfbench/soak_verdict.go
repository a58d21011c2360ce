package selfbench

import (
	"fmt"
	"math"
)

const (
	// soakClaimMost is how many times as long as in the first span the 99th
	// percentile of claims may be in the last one.
	soakClaimMost = 1.5
	// soakSizeMost is how many times as large as in the middle third of a soak the
	// database may be in the last one. Steady growth from nothing would give 1.5.
	soakSizeMost = 1.1
)

// verdict judges what was seen of a soak.
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

// sizeFigure compares the size in the last third with that in the middle one. Where
// more jobs a second are done, more of them are kept.
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
	bytes     int64 // at most
	perSecond float64
}

func thirdOf(spans []soakSpan) (t third) {
	for i := range spans {
		t.bytes = max(t.bytes, spans[i].Size.Bytes)
		t.perSecond += spans[i].perSecond() / float64(len(spans))
	}
	return t
}

// quotient is 0 where there is none.
func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func hundredths(x float64) float64 { return math.Round(x*100) / 100 }

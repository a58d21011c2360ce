package selfbench

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// soakPrinter prints the progress of a soak, as a table for people or as lines of JSON.
type soakPrinter struct {
	soak *Soak
	out  io.Writer
	json *json.Encoder // the encoder of the JSON lines; nil if a table for people is printed
}

func newSoakPrinter(s *Soak, out io.Writer, asJSON bool) *soakPrinter {
	p := &soakPrinter{soak: s, out: out}
	if asJSON {
		p.json = json.NewEncoder(out)
	}
	return p
}

// soakLine is the JSON form of a span.
type soakLine struct {
	Span      int     `json:"span"` // number of the span, from 1
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"jobs_per_second"`
	Claims    int64   `json:"claims"`
	P50       float64 `json:"claim_p50_ms"`
	P99       float64 `json:"claim_p99_ms"`
	Size      int64   `json:"size"`               // size of the database in bytes
	WAL       int64   `json:"wal_size,omitempty"` // size of the write-ahead log in bytes; the size of the database includes it
	Dead      int64   `json:"dead_rows,omitempty"`
	Memory    int64   `json:"memory,omitempty"` // memory of the process in bytes
}

// span prints the measurements of a span.
func (p *soakPrinter) span(s *soakSpan) error {
	if p.json != nil {
		return p.json.Encode(soakLine{s.N, hundredths(s.Took.Seconds()), round(s.perSecond()), s.Claims, milliseconds(s.P50), milliseconds(s.P99),
			s.Size.Bytes, s.Size.WAL, s.Size.Dead, s.Memory})
	}
	if s.N == 1 {
		fmt.Fprintf(p.out, "%8s %10s %10s %10s %12s %12s %10s %10s\n", "after", "jobs/s", "claim p50", "claim p99", "size", "of it WAL", "dead rows", "memory")
	}
	_, err := fmt.Fprintf(p.out, "%8s %10.0f %7.1f ms %7.1f ms %12s %12s %10d %10s\n", p.soak.span()*time.Duration(s.N), s.perSecond(),
		milliseconds(s.P50), milliseconds(s.P99), bytesOf(s.Size.Bytes), bytesOf(s.Size.WAL), s.Size.Dead, bytesOf(s.Memory))
	return err
}

// verdict prints the figures, their targets and some remarks. It returns ErrMissed if a
// figure missed its target.
func (p *soakPrinter) verdict(spans []soakSpan, end *soakEnd) error {
	figures, missed := p.soak.verdict(spans, end), 0
	if p.json == nil {
		fmt.Fprintln(p.out)
	}
	for _, f := range figures {
		if !f.Pass {
			missed++
		}
		if err := p.figure(f); err != nil {
			return err
		}
	}
	for _, remark := range p.soak.remarks(end) {
		if err := p.remark(remark); err != nil {
			return err
		}
	}
	if missed > 0 {
		return fmt.Errorf("%w: %d of %d figures", ErrMissed, missed, len(figures))
	}
	return nil
}

func (p *soakPrinter) figure(f Figure) error {
	if p.json != nil {
		return p.json.Encode(f)
	}
	word := "ok"
	if !f.Pass {
		word = "MISSED"
	}
	measured := strings.TrimSpace(strconv.FormatFloat(f.Measured, 'f', -1, 64) + " " + f.Unit)
	_, err := fmt.Fprintf(p.out, "%-7s %s: %s, target %s\n", word, f.Figure, measured, f.Target)
	return err
}

func (p *soakPrinter) remark(text string) error {
	if p.json != nil {
		return p.json.Encode(struct {
			Remark string `json:"remark"`
		}{text})
	}
	_, err := fmt.Fprintf(p.out, "        %s\n", text)
	return err
}

// remarks returns notes about values without a target, and about the reasons why a figure
// missed its target.
func (s *Soak) remarks(end *soakEnd) (notes []string) {
	const some = 5
	switch {
	case s.Snapshot:
		notes = append(notes, "The size has no target: while a snapshot is held, removed rows do not free their space.")
	case !s.settles():
		notes = append(notes, fmt.Sprintf("The size has no target: it settles in a soak of at least %s.", s.settled()))
	}
	if end.lostLease > 0 {
		notes = append(notes, fmt.Sprintf("%d runs lost their leases; their jobs were run again.", end.lostLease))
	}
	if n := len(end.unended); n > 0 {
		notes = append(notes, fmt.Sprintf("Jobs that have not ended: %v …", end.unended[:min(n, some)]))
	}
	if n := len(end.unknown); n > 0 {
		notes = append(notes, fmt.Sprintf("Jobs that ended and were not enqueued: %v …", end.unknown[:min(n, some)]))
	}
	for _, c := range end.counters {
		notes = append(notes, "Counter: "+c)
	}
	if end.failed != nil {
		notes = append(notes, fmt.Sprintf("The first call that failed: %v", end.failed))
	}
	for _, problem := range end.problems {
		notes = append(notes, "Problem in the database: "+problem)
	}
	return notes
}

// bytesOf formats a number of bytes for people.
func bytesOf(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n > 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return "-"
}

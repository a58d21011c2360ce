package sqlstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// allLanes is the lane under which the figures of all lanes together are stored.
const allLanes = 0

// unitsOfFigures holds the values of the column "unit" in redrive_figures.
var unitsOfFigures = [...]time.Duration{time.Minute, time.Hour}

// unitNumber returns the number that stands for a time unit in the column "unit".
func unitNumber(unit time.Duration) int64 {
	if unit == time.Hour {
		return 1
	}
	return 0
}

// FigureKey identifies a row of redrive_figures.
type FigureKey struct {
	Unit int64 // index in unitsOfFigures
	At   job.Micros
	Lane int64
}

// FigureKeys returns the rows to which the figures of a lane at a time are added.
func FigureKeys(at job.Micros, lane int64) (keys []FigureKey) {
	for n, unit := range unitsOfFigures {
		start := storekit.FigureStart(at, unit)
		keys = append(keys, FigureKey{int64(n), start, lane}, FigureKey{int64(n), start, allLanes})
	}
	return keys
}

var (
	selFigures = ask("selFigures")
	putFigures = ask("putFigures")
)

// retried reports whether an attempt of the run's job is a retry: not the first attempt of the
// job's first life. Call it when the attempt is already counted.
func (r *Run) retried() bool { return r.counters.Attempts > 1 || r.life > 1 }

// of returns the figures of a lane that the transaction will add to the stored figures. The
// pointer is valid until the next call of this method.
func (t *Txn) of(l *Lane) *store.Figures { return t.figures.at(l.id) }

// started counts a claim of a job that was due at the given time.
func (t *Txn) started(r *Run, due job.Micros) {
	f := t.of(r.lane)
	f.Started++
	f.WaitTime += max(0, int64(t.now-max(due, r.createdAt)))
}

// attempted counts an attempt that has ended in a lane.
func (t *Txn) attempted(l *Lane, r *Run, o *job.Outcome) {
	f := t.of(l)
	f.RunTime += max(0, int64(t.now-r.claimedAt))
	if r.retried() {
		f.Retries++
		f.RetryCost += o.Cost
	}
	if o.Cause == job.Failed {
		f.Failed++
		f.Class(o.Failure.Class).Failed++
	}
	f.CountRetries(o)
}

// spent counts the cost that the outcome of a run in a lane stores.
func (t *Txn) spent(l *Lane, o *job.Outcome) {
	if o.Cost > 0 && o.StoresCost() {
		t.of(l).Cost += o.Cost
	}
}

// isAttempt reports whether an outcome ends an attempt.
func isAttempt(o *job.Outcome) bool { return o.Cause == job.Succeeded || o.Cause == job.Failed }

// completed counts a completed job.
func (t *Txn) completed(r *Run) {
	f := t.of(r.lane)
	f.Completed++
	if r.retried() {
		f.Recovered++
	}
}

// died counts a death of a class.
func (t *Txn) died(r *Run, cause job.Cause, class string) {
	f := t.of(r.lane)
	f.Dead++
	f.Class(class).Dead++
	if cause == job.Failed && r.retried() {
		f.Exhausted++
	}
}

// deaths returns the number of deaths in the transaction.
func (t *Txn) deaths() (n int64) {
	for i := range t.figures.values {
		n += t.figures.values[i].Dead
	}
	return n
}

// flushFigures adds the figures of the transaction to the stored figures of the current minute and
// hour. In a store with other writers, the hook Record stores them.
func (t *Txn) flushFigures() error {
	if t.shared() {
		return nil
	}
	var all store.Figures
	for i, lane := range t.figures.keys {
		f := &t.figures.values[i]
		if f.IsZero() {
			continue
		}
		all.Add(f)
		if err := t.addFigures(lane, f); err != nil {
			return err
		}
	}
	if all.IsZero() {
		return nil
	}
	return t.addFigures(allLanes, &all)
}

func (t *Txn) addFigures(lane int64, f *store.Figures) error {
	for n, unit := range unitsOfFigures {
		k := FigureKey{int64(n), storekit.FigureStart(t.now, unit), lane}
		sum, err := t.storedFigures(k)
		if err != nil {
			return err
		}
		sum.Add(f)
		t.packed = PackFigures(t.packed[:0], sum)
		if _, err := t.exec(putFigures, num(k.Unit), num(k.At), num(k.Lane), blob(t.packed)); err != nil {
			return err
		}
	}
	return nil
}

// storedFigures returns the figures of a row. The catalogue caches them, so that the next
// transaction of the same minute need not read the row.
func (t *Txn) storedFigures(k FigureKey) (*store.Figures, error) {
	c := t.cat
	if minute := storekit.FigureStart(t.now, time.Minute); c.figures == nil || c.minute != minute {
		c.figures, c.minute = make(map[FigureKey]*store.Figures), minute
	}
	f := c.figures[k]
	if f != nil {
		return f, nil
	}
	f = new(store.Figures)
	err := t.rows(selFigures, func(r Row) error { return UnpackFigures(r.Blob(0), f) }, num(k.Unit), num(k.At), num(k.Lane))
	if err != nil {
		return nil, err
	}
	c.figures[k] = f
	return f, nil
}

// AppendFigures appends the figures of the transaction to b: for each lane its number, the size of
// its packed figures, and the packed figures. It appends nothing if the transaction has counted
// nothing. EachFigures reads the result.
func (t *Txn) AppendFigures(b []byte) []byte {
	for i, lane := range t.figures.keys {
		f := &t.figures.values[i]
		if f.IsZero() {
			continue
		}
		t.packed = PackFigures(t.packed[:0], f)
		b = binary.AppendUvarint(b, uint64(lane))
		b = binary.AppendUvarint(b, uint64(len(t.packed)))
		b = append(b, t.packed...)
	}
	return b
}

// EachFigures calls the given function for every lane that AppendFigures has appended.
func EachFigures(b []byte, each func(lane int64, f *store.Figures) error) error {
	for len(b) > 0 {
		lane, n := binary.Uvarint(b)
		size, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 || size > uint64(len(b)-n-m) {
			return errFigures
		}
		b = b[n+m:]
		var f store.Figures
		if err := UnpackFigures(b[:size], &f); err != nil {
			return err
		}
		if err := each(int64(lane), &f); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// The packed form of figures consists of a version byte and sections. A section consists of
// its number, its size and its content. Numbers are varints. A list of counts is its length
// and the counts; counts of zero at its end are left out. A new count is appended to the
// list, and a new kind of figures, such as the figures of operations or percentiles, gets a
// new section.
const (
	figuresVersion = 1
	sectionCounts  = 1 // a list of counts
	sectionClasses = 2 // for each class: the size of its name, its name, and a list of counts
)

var errFigures = errors.New("the packed figures of jobs are damaged: restore the database from a backup")

// PackFigures appends the packed form of figures to b.
func PackFigures(b []byte, f *store.Figures) []byte {
	b = append(b, figuresVersion)
	b = appendSection(b, sectionCounts, func(b []byte) []byte {
		return appendCounts(b, f.Enqueued, f.Started, f.Completed, f.Recovered, f.Failed, f.Dead, f.Exhausted, f.Crashed, f.Cancelled,
			f.Retries, f.RetryCost, f.RunTime, f.WaitTime, f.Cost)
	})
	if len(f.Classes) == 0 {
		return b
	}
	return appendSection(b, sectionClasses, func(b []byte) []byte {
		for i := range f.Classes {
			c := &f.Classes[i]
			b = binary.AppendUvarint(b, uint64(len(c.Class)))
			b = append(b, c.Class...)
			b = appendCounts(b, c.Failed, c.Dead, c.Recovered, c.Exhausted, c.Retries, c.RetryCost)
		}
		return b
	})
}

// appendSection appends a section whose bytes the given function appends. Most sections are
// shorter than 128 bytes, so that their size takes one byte.
func appendSection(b []byte, number byte, content func([]byte) []byte) []byte {
	b = append(b, number, 0)
	begin := len(b)
	b = content(b)
	size := len(b) - begin
	if size < 0x80 {
		b[begin-1] = byte(size)
		return b
	}
	var buf [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(buf[:], uint64(size))
	b = append(b, buf[:n-1]...) // make room for the size, which needs n bytes instead of one
	copy(b[begin+n-1:], b[begin:begin+size])
	copy(b[begin-1:], buf[:n])
	return b
}

func appendCounts(b []byte, counts ...int64) []byte {
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	b = append(b, byte(len(counts)))
	for _, n := range counts {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// UnpackFigures adds packed figures to f.
func UnpackFigures(b []byte, f *store.Figures) error { return unpackFigures(b, f, true) }

// unpackFigures adds packed figures to f, without those of the classes unless classes is true.
func unpackFigures(b []byte, f *store.Figures, classes bool) error {
	r := figureReader{b: b}
	if version := r.byte(); version != figuresVersion && !r.bad {
		return fmt.Errorf("figures of jobs in the form %d: this program reads form %d: use a newer version of redrive: %w", version, figuresVersion, store.ErrUnavailable)
	}
	for len(r.b) > 0 && !r.bad {
		section := r.number()
		in := figureReader{b: r.bytes(r.number())}
		switch section {
		case sectionCounts:
			in.counts(&f.Enqueued, &f.Started, &f.Completed, &f.Recovered, &f.Failed, &f.Dead, &f.Exhausted, &f.Crashed, &f.Cancelled,
				&f.Retries, &f.RetryCost, &f.RunTime, &f.WaitTime, &f.Cost)
		case sectionClasses:
			if !classes {
				in.b = nil
			}
			for len(in.b) > 0 && !in.bad {
				c := f.Class(string(in.bytes(in.number())))
				in.counts(&c.Failed, &c.Dead, &c.Recovered, &c.Exhausted, &c.Retries, &c.RetryCost)
			}
		default:
			return fmt.Errorf("figures of jobs with a section %d: this program knows the sections 1 and 2: use a newer version of redrive: %w", section, store.ErrUnavailable)
		}
		r.bad = r.bad || in.bad || len(in.b) > 0
	}
	if r.bad {
		return errFigures
	}
	return nil
}

// figureReader reads packed figures. The field bad is set when the figures are damaged.
type figureReader struct {
	b   []byte
	bad bool
}

func (r *figureReader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *figureReader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *figureReader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

// counts adds a list of counts to the counters.
func (r *figureReader) counts(into ...*int64) {
	n := int(r.byte())
	if n > len(into) {
		r.bad = true
		return
	}
	for _, c := range into[:n] {
		*c += int64(r.number())
	}
}

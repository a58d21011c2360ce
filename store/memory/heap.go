package memory

import stdheap "container/heap"

// heap is an ordered collection of jobs. Each job stores its heap and its index in that heap, so
// that the job can be removed without a search.
type heap struct {
	jobs   []*record
	before func(a, b *record) bool
}

// dueBefore compares two jobs of the same priority. It reports whether a is claimed before b.
func dueBefore(a, b *record) bool {
	return a.RunAt < b.RunAt || a.RunAt == b.RunAt && a.ID < b.ID
}

// leaseEndsBefore compares two running jobs. It reports whether a is rescued before b.
func leaseEndsBefore(a, b *record) bool {
	return a.LeaseUntil < b.LeaseUntil || a.LeaseUntil == b.LeaseUntil && a.ID < b.ID
}

// first returns the job that comes first in the heap's order. It returns nil when the heap is
// empty.
func (h *heap) first() *record {
	if len(h.jobs) == 0 {
		return nil
	}
	return h.jobs[0]
}

func (h *heap) add(r *record) {
	r.in = h
	stdheap.Push((*places)(h), r)
}

// remove removes a job from its heap.
func (r *record) remove() {
	stdheap.Remove((*places)(r.in), r.place)
	r.in = nil
}

// moved restores the order of the heap. Call it after changing a field of the job by which the
// heap is ordered.
func (r *record) moved() { stdheap.Fix((*places)(r.in), r.place) }

// places implements heap.Interface of the package container/heap for a heap of jobs.
type places heap

func (p *places) Len() int           { return len(p.jobs) }
func (p *places) Less(i, j int) bool { return p.before(p.jobs[i], p.jobs[j]) }

func (p *places) Swap(i, j int) {
	p.jobs[i], p.jobs[j] = p.jobs[j], p.jobs[i]
	p.jobs[i].place, p.jobs[j].place = i, j
}

func (p *places) Push(x any) {
	r := x.(*record)
	r.place = len(p.jobs)
	p.jobs = append(p.jobs, r)
}

func (p *places) Pop() any {
	last := len(p.jobs) - 1
	r := p.jobs[last]
	p.jobs[last] = nil
	p.jobs = p.jobs[:last]
	return r
}

package sqlstore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// The index of owners finds the jobs of an owner, and the jobs with a correlation id. An
// enqueue does not write the index, because an enqueue would take a third longer if each job
// had a row in an index. The index is built later, from the events of new jobs: see
// IndexOwners. A list reads the index, and the events that the index still lacks.
//
// The index consists of runs. A run has the entries of a range of commits: one for the owner
// of a job, and one for its correlation id. The entries are divided into parts by the hash
// of the owner or the correlation id, so a list reads one part of each run. The index can
// contain jobs with another value of the same hash, and jobs that were removed. A list reads
// each job and so finds out. See keepOwned for how the runs are merged and cleaned.

// ownedJob is one entry in the index of owners.
type ownedJob struct {
	tag uint32 // hash of the owner or of the correlation id
	id  job.ID
}

// The first byte of a hash says what is hashed, so that an owner and a correlation id with
// the same text have different hashes.
const (
	ownerSpace       = 'o'
	correlationSpace = 'c'
)

// ownerTag returns the hash of an owner. Its lowest bits choose the part of a run.
func ownerTag(owner []byte) uint32 { return tagOf(ownerSpace, owner) }

// correlationTag is ownerTag for a correlation id.
func correlationTag(id []byte) uint32 { return tagOf(correlationSpace, id) }

func tagOf(space byte, text []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte{space}) // the Write method of a hash never returns an error
	_, _ = h.Write(text)
	return h.Sum32()
}

// eachOwned reads a row of events. It calls the given function for every entry that the new jobs in
// the row have in the index. It returns the number of events in the row.
func eachOwned(seq int64, body []byte, each func(ownedJob)) (n int, err error) {
	return event.Enqueued(seq, body, func(id job.ID, owner, correlation []byte) {
		if len(owner) > 0 {
			each(ownedJob{ownerTag(owner), id})
		}
		if len(correlation) > 0 {
			each(ownedJob{correlationTag(correlation), id})
		}
	})
}

// Limits of the sizes of runs and parts.
const (
	ownedStepMax  = 16_384  // entries of a new run; the last commit that is added may exceed this number
	ownedRunMax   = 131_072 // maximum number of entries of a merged run
	ownedPartJobs = 128     // average number of entries of a part
	ownedPartsMax = 1_024   // maximum number of parts of a run; a power of two
)

// ownedRun is a run of the index.
type ownedRun struct {
	run     int64
	low     job.ID     // the lowest id in this run of the index
	high    job.ID     // the highest id in this run of the index
	n       int64      // number of entries
	parts   int64      // a power of two
	at      job.Micros // time of the newest commit whose jobs are in the run
	checked job.Micros // when jobs that no longer exist were last removed from the run; 0 means never
}

// partsOf returns the number of parts of a run with n entries.
func partsOf(n int) int64 {
	return min(int64(1)<<bits.Len(uint(n/ownedPartJobs)), ownedPartsMax)
}

// places returns the numbers of a run's parts: the first number, and one more than the last number.
func (r *ownedRun) places() (from, to int64) {
	return r.run * ownedPartsMax, (r.run + 1) * ownedPartsMax
}

// ownedPart is a part of a run. Its entries are those of the run whose tags have the same
// lowest bits.
type ownedPart struct {
	part int64
	body []byte
}

// divide sorts the entries of a run and packs them into parts. Parts without entries are
// left out. It removes repeated entries.
func divide(jobs []ownedJob) (r ownedRun, parts []ownedPart) {
	r.parts = partsOf(len(jobs))
	partOf := func(j ownedJob) int64 { return int64(j.tag) & (r.parts - 1) }
	slices.SortFunc(jobs, func(a, b ownedJob) int {
		return cmp.Or(cmp.Compare(partOf(a), partOf(b)), cmp.Compare(a.tag, b.tag), cmp.Compare(a.id, b.id))
	})
	jobs = slices.Compact(jobs)
	r.n, r.low, r.high = int64(len(jobs)), math.MaxInt64, 0
	for _, j := range jobs {
		r.low, r.high = min(r.low, j.id), max(r.high, j.id)
	}
	for len(jobs) > 0 {
		part := partOf(jobs[0])
		end := slices.IndexFunc(jobs, func(j ownedJob) bool { return partOf(j) != part })
		if end < 0 {
			end = len(jobs)
		}
		parts = append(parts, ownedPart{part, packOwned(jobs[:end])})
		jobs = jobs[end:]
	}
	return r, parts
}

// packOwned packs sorted entries. For each tag it writes the tag in 4 bytes, the number of jobs, the
// first id, and then the difference of each further id to the id before it.
func packOwned(jobs []ownedJob) []byte {
	var b []byte
	for len(jobs) > 0 {
		tag := jobs[0].tag
		end := slices.IndexFunc(jobs, func(j ownedJob) bool { return j.tag != tag })
		if end < 0 {
			end = len(jobs)
		}
		b = binary.LittleEndian.AppendUint32(b, tag)
		b = binary.AppendUvarint(b, uint64(end))
		last := job.ID(0)
		for _, j := range jobs[:end] {
			b = binary.AppendUvarint(b, uint64(j.id-last))
			last = j.id
		}
		jobs = jobs[end:]
	}
	return b
}

var errOwned = errors.New("the index of owners is damaged")

// unpackOwned calls the given function for every entry of a part, in the order in which the entries
// were packed.
func unpackOwned(b []byte, each func(ownedJob)) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return errOwned
		}
		j := ownedJob{tag: binary.LittleEndian.Uint32(b)}
		count, n := binary.Uvarint(b[4:])
		if n <= 0 {
			return errOwned
		}
		for b = b[4+n:]; count > 0; count-- {
			more, n := binary.Uvarint(b)
			if n <= 0 {
				return errOwned
			}
			b = b[n:]
			j.id += job.ID(more)
			each(j)
		}
	}
	return nil
}

var (
	selOwnedMark   = ask("selOwnedMark")
	walkUnindexed  = askWalk("walkUnindexed")
	selUnindexed   = ask("selUnindexed")
	countUnindexed = ask("countUnindexed")
	selOwnedParts  = askWalk("selOwnedParts")
	selOwnedRuns   = ask("selOwnedRuns")
	selLastRun     = ask("selLastRun")
	selOwnedRun    = ask("selOwnedRun")

	setOwnedMark = ask("setOwnedMark")
	insOwnedRun  = ask("insOwnedRun")
	insOwned     = ask("insOwned")
	delOwnedRun  = ask("delOwnedRun")
	delOwned     = ask("delOwned")
)

func readOwnedRuns(c Session) (runs []ownedRun, err error) {
	err = c.Rows(selOwnedRuns, func(r Row) error {
		runs = append(runs, ownedRun{run: r.Int(0), low: job.ID(r.Int(1)), high: job.ID(r.Int(2)), n: r.Int(3), parts: r.Int(4),
			at: job.Micros(r.Int(5)), checked: job.Micros(r.Int(6))})
		return nil
	})
	return runs, err
}

// putOwnedRun writes a run with its parts.
func (t *Txn) putOwnedRun(r *ownedRun, parts []ownedPart) error {
	from, _ := r.places()
	for _, p := range parts {
		if _, err := t.exec(insOwned, num(from+p.part), blob(p.body)); err != nil {
			return err
		}
	}
	_, err := t.exec(insOwnedRun, num(r.run), num(r.low), num(r.high), num(r.n), num(r.parts), num(r.at), num(r.checked))
	return err
}

// ownedOf returns the ids of the jobs with the given tag in a packed part, the lowest id first.
func ownedOf(body []byte, tag uint32) (ids []job.ID, err error) {
	err = unpackOwned(body, func(j ownedJob) {
		if j.tag == tag {
			ids = append(ids, j.id)
		}
	})
	return ids, err
}

package demo

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// trouble is a fault that the upstream produces for one request.
type trouble string

// The faults of the upstream. If the fault is in a file, the response has status 200, but
// its body is damaged.
const (
	tooMany      trouble = "429 with Retry-After in seconds"
	tooManyDate  trouble = "429 with Retry-After as a date"
	tooManyLong  trouble = "429 with Retry-After of two days"
	unavailable  trouble = "503"
	serverError  trouble = "500"
	gateway      trouble = "504"
	notFound     trouble = "404"
	forbidden    trouble = "403"
	unprocessed  trouble = "422"
	teapot       trouble = "418"
	wrongKey     trouble = "401" // the response says that the key is no longer valid
	readOnly     trouble = "503 of a full bucket"
	hang         trouble = "no answer"
	reset        trouble = "connection reset"
	cut          trouble = "body cut short"
	emptyResult  trouble = "200 with an empty result"
	fileBroken   trouble = "200 with a broken file"
	fileStuck    trouble = "200 with a file that makes the encoder hang"
	fileHungry   trouble = "200 with a file that takes all memory"
	fileConfused trouble = "200 with a file that confuses the encoder"
)

// encounter is a fault and the share of the jobs that get it.
type encounter struct {
	trouble trouble
	service string
	times   int     // the number of requests of one job that get the fault; 0 means all its requests
	share   float64 // the share of the jobs of one kind that get the fault
}

// encounters returns the faults for the jobs of a kind. A job gets at most one of them; the
// other jobs have no fault.
func encounters(kind string) []encounter {
	switch kind {
	case kindTranscribe:
		return []encounter{
			{notFound, "videos", 0, 0.05}, {forbidden, "videos", 0, 0.03}, {tooManyLong, "models", 0, 0.02},
			{reset, "videos", 1, 0.06}, {reset, "transcripts", 2, 0.03}, {cut, "videos", 1, 0.07}, {tooMany, "models", 1, 0.07},
			{tooManyDate, "models", 1, 0.07}, {unavailable, "models", 2, 0.08}, {hang, "models", 1, 0.03}, {emptyResult, "models", 1, 0.02},
		}
	case kindRender:
		return []encounter{
			{notFound, "images", 0, 0.06}, {unavailable, "images", 1, 0.12}, {cut, "images", 1, 0.08}, {reset, "images", 2, 0.06},
			{fileConfused, "images", 1, 0.08}, {hang, "videos", 1, 0.03}, {tooMany, "videos", 1, 0.05},
		}
	case kindOCR:
		return []encounter{
			{teapot, "documents", 0, 0.04}, {tooMany, "vision", 1, 0.08}, {tooManyDate, "vision", 1, 0.06},
			{unavailable, "documents", 1, 0.08}, {reset, "documents", 2, 0.04}, {cut, "documents", 1, 0.04},
		}
	case kindWatermark:
		return []encounter{
			{fileBroken, "sources", 0, 0.07}, {notFound, "sources", 0, 0.04}, {fileStuck, "sources", 1, 0.04},
			{fileHungry, "sources", 1, 0.07}, {fileConfused, "sources", 1, 0.08}, {unavailable, "copies", 1, 0.09}, {reset, "copies", 2, 0.04},
		}
	case kindChat:
		return []encounter{
			{unprocessed, "tools", 0, 0.06}, {forbidden, "tools", 0, 0.03}, {notFound, "tools", 0, 0.03},
			{tooMany, "models", 1, 0.06}, {tooManyDate, "models", 1, 0.05}, {serverError, "models", 2, 0.07},
			{unavailable, "tools", 3, 0.05}, {gateway, "tools", 1, 0.05}, {reset, "tools", 2, 0.06}, {hang, "tools", 1, 0.03},
		}
	}
	return nil
}

// plan holds the faults that are still to come, by the key of the job.
type plan map[string]encounter

// planned assigns the faults to jobs. The seed selects the jobs, but the number of jobs
// with each fault is always the same. Each fault gets at least one job.
func planned(seed uint64, jobs []demoJob) plan {
	p := plan{}
	for _, kind := range kinds {
		var keys []string
		for i := range jobs {
			if jobs[i].kind == kind && !jobs[i].spared {
				keys = append(keys, jobs[i].key)
			}
		}
		shuffle(seed, kind, keys)
		all := float64(len(keys))
		for _, e := range encounters(kind) {
			n := min(len(keys), max(1, int(e.share*all+0.5)))
			for _, key := range keys[:n] {
				p[key] = e
			}
			keys = keys[n:]
		}
	}
	return p
}

// shuffle puts names in an order that depends on the seed and the purpose.
func shuffle(seed uint64, purpose string, names []string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose))
	slices.Sort(names)
	rand.New(rand.NewPCG(seed, h.Sum64())).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
}

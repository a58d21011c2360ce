package selfbench

import (
	"fmt"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// allFailing returns work in which every attempt fails. Each job is retried at once until
// it has no retries left, and becomes a dead letter.
func allFailing(attempts int) *work {
	const each = 1 + benchRetries
	jobs := attempts / each
	return &work{jobs, jobs * each, job.Dead, unavailable}
}

// fifthFailing returns work in which every fifth attempt fails: the first attempt of every
// fourth job. The second attempt of these jobs succeeds.
func fifthFailing(attempts int) *work {
	const each = 4
	failing := attempts / (each + 1)
	jobs := failing * each
	return &work{jobs, jobs + failing, job.Completed, func(j *redrive.Job[[]byte]) error {
		if j.Attempt > 1 || j.ID%each != 0 {
			return nil
		}
		return unavailable(j)
	}}
}

// statusError is an error like those of HTTP clients: it contains the status as a number
// and a text with details.
type statusError struct {
	status  int
	request uint64
}

func (e *statusError) Error() string {
	return "unexpected status " + strconv.Itoa(e.status) + " Service Unavailable: upstream connect error or " +
		"disconnect/reset before headers (request id req_" + strconv.FormatUint(e.request, 16) + ")"
}

func (e *statusError) StatusCode() int { return e.status }

// unavailable returns the error of an attempt that failed because a service was not
// available. The text has about 200 bytes and the same form each time, but different ids.
func unavailable(j *redrive.Job[[]byte]) error {
	request := (uint64(j.ID)<<8 + uint64(j.Attempt)) * 0x9E3779B97F4A7C15
	return fmt.Errorf("fetch https://media.example.com/v2/renditions/%d/preview.mp4: %w", 40_000_000+j.ID, &statusError{503, request})
}

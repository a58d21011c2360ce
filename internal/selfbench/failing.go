package selfbench

import (
	"fmt"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// allFailing is the work on jobs of which every attempt fails: each is run again
// at once until its retries are used up, and is a dead letter in the end.
func allFailing(attempts int) *work {
	const each = 1 + benchRetries
	jobs := attempts / each
	return &work{jobs, jobs * each, job.Dead, unavailable}
}

// fifthFailing is the work on jobs of which every fifth attempt fails: the first
// one of every fourth job, which then succeeds.
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

// statusError is an error as the clients of services have it: it knows the
// status, and says more in its text.
type statusError struct {
	status  int
	request uint64
}

// Error implements error.
func (e *statusError) Error() string {
	return "unexpected status " + strconv.Itoa(e.status) + " Service Unavailable: upstream connect error or " +
		"disconnect/reset before headers (request id req_" + strconv.FormatUint(e.request, 16) + ")"
}

// StatusCode returns the status.
func (e *statusError) StatusCode() int { return e.status }

// unavailable is the error of an attempt that a service is to blame for: some
// 200 bytes, of one shape, with other ids in it each time.
func unavailable(j *redrive.Job[[]byte]) error {
	request := (uint64(j.ID)<<8 + uint64(j.Attempt)) * 0x9E3779B97F4A7C15
	return fmt.Errorf("fetch https://media.example.com/v2/renditions/%d/preview.mp4: %w", 40_000_000+j.ID, &statusError{503, request})
}

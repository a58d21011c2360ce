package words

import "github.com/redrive/redrive/job"

// ExpiredText is what users read about a job whose deadline passed before it could run, or run again.
const ExpiredText = "This was not finished in time and has stopped."

// UserText returns what users read about a job that has failed: the text of its last failure, unless the deadline
// passed after that failure, for then nothing goes on as the text says. The failure may be nil. If the job is dead,
// diedAt is the time of its death, and otherwise 0.
func UserText(last *job.Failure, reason job.Reason, diedAt job.Micros) string {
	switch {
	case reason == job.DeadlineOver && diedAt > 0 && (last == nil || last.EndedAt != diedAt):
		return ExpiredText
	case last == nil:
		return ""
	}
	return last.UserMessage
}

// JobUserText returns what UserText returns for a job in its present state.
func JobUserText(j *job.Job, last *job.Failure) string {
	if j.State != job.Dead {
		return UserText(last, "", 0)
	}
	return UserText(last, j.Reason, j.FinishedAt)
}

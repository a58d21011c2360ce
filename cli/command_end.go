package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/internal/reports"
)

// feedbackWait is the longest time for storing one feedback.
const feedbackWait = 5 * time.Second

// reporting passes the reports of a command on to its run.
type reporting struct {
	ctx context.Context //nolint:containedctx // of the run that the value belongs to
	*redrive.Info
}

// Feedback implements reports.Run. It also stores a feedback that the command gave before it was
// stopped.
func (r reporting) Feedback(text string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), feedbackWait)
	defer cancel()
	return r.Info.Feedback(ctx, text)
}

// asked returns the error by which a command asks for a snooze or cancels its job. It returns nil
// if the command has done neither.
func asked(said *reports.Said) error {
	switch {
	case said.Snooze > 0:
		return failure.Snooze(said.Snooze)
	case said.Cancel:
		return failure.Cancel(said.Reason)
	}
	return nil
}

// ended returns the error of a run whose command failed, with what the command has said about it.
// If the command was stopped, only its details count: the rest is about a failure that it has not
// had.
func ended(failed *commandError, says *reports.Reader) error {
	said := &says.Said
	details := said.Details
	if mistake := says.Mistake(); mistake != "" {
		details = append(details, "report_problem", mistake)
	}
	if failed.exit.Cause != nil {
		failed.said = ""
		return detailed(failed, "", details)
	}
	if err := asked(said); err != nil {
		return err
	}
	err := detailed(failed, said.Code, details)
	if said.Class != "" {
		err = failure.WithClass(said.Class, err)
	}
	if said.Dependency != "" {
		err = failure.DependencyDown(said.Dependency, err)
	}
	if said.RetryAfter > 0 {
		err = failure.RetryAfter(said.RetryAfter, err)
	}
	if said.Permanent {
		err = failure.Permanent(err)
	}
	return err
}

// detailed returns err with a code and details, if there are any.
func detailed(err error, code string, details []any) error {
	if code == "" && len(details) == 0 {
		return err
	}
	return failure.Code(code, err, details...)
}

// commandError says that a command failed. It gives the classifier the exit status and the end
// of the output. Its text only says how the command ended, and what the command has reported. If
// it has reported nothing, the line of the output that says why is added when the failure is
// classified, see classify.Complete.
type commandError struct {
	exit      *proc.ExitError
	said      string // the message that the command has reported
	limit     string // how long the kind may run, and where that is set; "" if the configuration does not say
	unwritten bool   // whether the command ended with exit code 0 and has not written its output file
}

func (e *commandError) Error() string {
	how := e.exit.Status.String()
	switch {
	case e.exit.Cause != nil:
		how = e.exit.Error()
		if errors.Is(e.exit.Cause, context.DeadlineExceeded) {
			how += e.limit
		}
	case e.exit.Status.Signal != "":
		how = "killed by " + e.exit.Status.Signal
	case e.unwritten:
		how = "exit code 0, but the output file was not written"
	}
	if e.said != "" {
		return how + ": " + e.said
	}
	return how
}

func (e *commandError) Unwrap() error      { return e.exit }
func (e *commandError) ExitCode() int      { return e.exit.ExitCode() }
func (e *commandError) SignalName() string { return e.exit.Status.Signal }
func (e *commandError) StderrTail() []byte { return e.exit.Stderr }
func (e *commandError) StdoutTail() []byte { return e.exit.Stdout }

// limit says how long a run may take by the configuration, for the error of a run that took longer.
func (c *command) limit(kind string) string {
	if c.kind.Timeout == 0 {
		return ""
	}
	return fmt.Sprintf(" of %s (kinds.%s.timeout)", human.Duration(c.kind.Timeout), kind)
}

// written returns the output file of the kind, and whether the command has written it: it exists,
// is a file and is not empty. A kind without an output file has always written it.
func (c *command) written(env map[string]string, payload []byte) (path string, ok bool) {
	if c.kind.Output == "" {
		return "", true
	}
	path = os.Expand(c.kind.Output, func(name string) string {
		if keys, of := strings.CutPrefix(name, "payload."); of {
			return payloadField(payload, strings.Split(keys, "."))
		}
		return env[name]
	})
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(c.kind.Dir, full)
	}
	info, err := os.Stat(full)
	return path, err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// payloadField returns the text or number of a payload under nested keys, or "".
func payloadField(payload []byte, keys []string) string {
	for _, key := range keys {
		var object map[string]json.RawMessage
		if json.Unmarshal(payload, &object) != nil {
			return ""
		}
		payload = object[key]
	}
	var text string
	switch {
	case json.Unmarshal(payload, &text) == nil:
		return text
	case len(payload) > 0 && (payload[0] == '-' || '0' <= payload[0] && payload[0] <= '9'):
		return string(payload)
	}
	return ""
}

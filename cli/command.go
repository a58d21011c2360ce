package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/job"
)

// command runs the jobs of one kind with the command that the configuration names.
type command struct {
	kind  config.Kind
	log   *slog.Logger
	guard *proc.Guard
}

// commandStep is the name of the single step of a job that runs as a command.
const commandStep = "command"

func (c *command) handle(ctx context.Context, j *redrive.Job[[]byte]) error {
	dir, err := j.TempDir()
	if err != nil {
		return err
	}
	out, err := proc.Run(ctx, proc.Spec{
		Argv: c.kind.Command, Stdin: j.Args, Dir: c.kind.Dir, Inherit: c.kind.Env, Env: c.environment(j, dir),
		Grace: c.kind.KillGrace, TempDir: dir, Guard: c.guard,
	})
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		return &commandError{exit}
	}
	if err != nil {
		return err
	}
	if out.Truncated {
		c.log.WarnContext(ctx, "the result was shortened: the command wrote more to standard output than a result can hold",
			"job", j.ID.String(), "kind", j.Kind, "kept", job.ResultMax)
	}
	if result := resultOf(out.Stdout, out.Truncated); result != nil {
		return j.SetResult(result)
	}
	return nil
}

func (c *command) environment(j *redrive.Job[[]byte], dir string) map[string]string {
	env := maps.Clone(c.kind.SetEnv)
	if env == nil {
		env = make(map[string]string)
	}
	env["TMPDIR"] = dir
	env["REDRIVE_JOB_ID"] = j.ID.String()
	env["REDRIVE_KIND"] = j.Kind
	env["REDRIVE_ATTEMPT"] = strconv.Itoa(j.Attempt)
	env["REDRIVE_LIFE"] = strconv.Itoa(j.Life)
	env["REDRIVE_RUN"] = strconv.Itoa(j.Run)
	env["REDRIVE_STEP_KEY"] = j.StepKey(commandStep)
	env["REDRIVE_CORRELATION"] = j.Correlation
	env["REDRIVE_PAYLOAD_BYTES"] = strconv.Itoa(len(j.Args))
	return env
}

// resultOf returns the result of a job from the output of its command: valid JSON is kept
// unchanged, any other text becomes a JSON string. If there is no output, it returns nil.
func resultOf(out []byte, cut bool) []byte {
	if !cut && utf8.Valid(out) && json.Valid(out) {
		return out
	}
	text := strings.TrimRight(string(out), "\r\n")
	for text != "" {
		result, err := json.Marshal(text)
		if err != nil {
			panic("encode a text as JSON: " + err.Error())
		}
		if len(result) <= job.ResultMax {
			return result
		}
		// The text is within the limit, but its JSON form is longer than the limit because of
		// escapes.
		text = text[:min(len(text)-1, len(text)*job.ResultMax/len(result))]
	}
	return nil
}

// commandError says that a command failed. It gives the classifier the exit status and the end
// of the output. Its text only says how the command ended: the line of the output that says why
// is added when the failure is classified, see failure.Complete.
type commandError struct{ exit *proc.ExitError }

func (e *commandError) Error() string {
	if e.exit.Cause != nil {
		return e.exit.Error()
	}
	if e.exit.Status.Signal != "" {
		return "killed by " + e.exit.Status.Signal
	}
	return e.exit.Status.String()
}

func (e *commandError) Unwrap() error      { return e.exit }
func (e *commandError) ExitCode() int      { return e.exit.ExitCode() }
func (e *commandError) SignalName() string { return e.exit.Status.Signal }
func (e *commandError) StderrTail() []byte { return e.exit.Stderr }
func (e *commandError) StdoutTail() []byte { return e.exit.Stdout }

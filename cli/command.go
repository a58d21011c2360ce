package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/charset"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/internal/reports"
	"github.com/redrive/redrive/job"
)

// command runs the jobs of one kind with the command that the configuration names.
type command struct {
	kind  config.Kind
	log   *slog.Logger
	guard *proc.Guard
}

func (c *command) handle(ctx context.Context, j *redrive.Job[[]byte]) error {
	dir, err := j.TempDir()
	if err != nil {
		return err
	}
	says, env := reports.New(reporting{ctx: ctx, Info: &j.Info}), c.environment(j, dir)
	out, err := proc.Run(ctx, proc.Spec{
		Argv: c.kind.Command, Stdin: j.Args, Dir: c.kind.Dir, Inherit: c.kind.Env, Env: env,
		Grace: c.kind.KillGrace, TempDir: dir, Report: says, Guard: c.guard,
	})
	says.Close()
	c.decode(&out, err)
	if mistake := says.Mistake(); mistake != "" {
		c.log.WarnContext(ctx, "the command wrote lines to REDRIVE_FD that cannot be used; they change nothing",
			"job", j.ID.String(), "kind", j.Kind, "problem", mistake)
	}
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		return ended(&commandError{exit: exit, said: says.Said.Message, limit: c.limit(j.Kind)}, says)
	}
	if err != nil {
		return err
	}
	if err := asked(&says.Said); err != nil {
		return err
	}
	if path, ok := c.written(env, j.Args); !ok {
		exit := &proc.ExitError{Name: c.kind.Command[0], Stderr: out.Stderr, Stdout: out.Stdout}
		says.Said.Details = append(says.Said.Details, "output", path)
		return ended(&commandError{exit: exit, said: says.Said.Message, unwritten: true}, says)
	}
	return c.setResult(ctx, j, &says.Said, &out)
}

// decode converts what the command has written into UTF-8, if it is in the encoding of the kind.
func (c *command) decode(out *proc.Result, err error) {
	if c.kind.Encoding == "" {
		return
	}
	out.Stdout, out.Stderr = charset.Decode(c.kind.Encoding, out.Stdout), charset.Decode(c.kind.Encoding, out.Stderr)
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		exit.Stderr, exit.Stdout = charset.Decode(c.kind.Encoding, exit.Stderr), charset.Decode(c.kind.Encoding, exit.Stdout)
	}
}

// setResult sets the result that the command has reported, or else its standard output.
func (c *command) setResult(ctx context.Context, j *redrive.Job[[]byte], said *reports.Said, out *proc.Result) error {
	if said.Result != nil {
		return j.SetResult(said.Result)
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

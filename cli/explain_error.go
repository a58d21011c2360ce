package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// explainFlags are the flags that describe the error to explain.
type explainFlags struct {
	jsonFlag
	Error     *string  `placeholder:"TEXT" help:"Text of the error."`
	ErrorFile string   `placeholder:"FILE" help:"File with the text of the error, such as the end of a log; \"-\" reads standard input."`
	Status    int      `placeholder:"N" help:"HTTP status, 100 to 599."`
	ExitCode  *int     `placeholder:"N" help:"Exit code of a command."`
	Signal    string   `placeholder:"NAME" help:"Signal that ended a command, such as SIGKILL."`
	Code      string   `placeholder:"CODE" help:"Code of the handler or of the other side, such as ECONNRESET, SlowDown or 40001."`
	Timeout   bool     `help:"Assume that the time limit of the kind ended the run."`
	Kind      string   `placeholder:"NAME" help:"Kind of the job."`
	Queue     string   `placeholder:"NAME" default:"default" help:"Queue of the job, for the rules of the policy. Default: \"default\"."`
	Priority  int      `placeholder:"N" default:"2" help:"Priority of the job, for the rules. Default 2."`
	Owner     string   `placeholder:"NAME" help:"Owner of the job, for the rules."`
	Attempt   *int     `placeholder:"N" help:"Number of the attempt that failed, from 1. Default 1."`
	Attrs     string   `placeholder:"JSON" help:"Attributes of the job as a JSON object, for the rules of the policy."`
	Payload   string   `placeholder:"TEXT" help:"Payload of the job, for codes.missing_input of the policy."`
	Policy    string   `placeholder:"FILE|preset:NAME" help:"Policy to use instead of the policy of the configuration."`
	Draw      *float64 `placeholder:"U" help:"Random number for the jitter, from 0 to below 1. Default: 0.5; the range is also printed."`
}

// errorTextMax is the largest size of an error text, in bytes. Of a long text the classifier reads
// only the beginning and the end.
const errorTextMax = 64 << 20

// explainError prints the decision that the policy would make about an error.
func (c *explainFlags) explainError(a *app) error {
	q, err := c.question(a)
	if err != nil {
		return err
	}
	p, err := a.effectivePolicy(c.Policy)
	if err != nil {
		return err
	}
	r := q.Ask(p)
	if c.JSON {
		return a.printJSON(r)
	}
	page := &page{w: a.out, style: a.styleOf(a.stdout)}
	page.ruling(&r)
	return nil
}

// effectivePolicy returns the policy as a worker with this configuration uses it. If the name is
// not empty, it names the policy that is used instead of the configured one.
func (a *app) effectivePolicy(name string) (*policy.Policy, error) {
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = s.policyName()
	}
	p, err := loadPolicy(name)
	if err != nil {
		return nil, err
	}
	return underConfig(p, s.Config)
}

// sqlState matches an SQLSTATE code: five digits or capital letters.
var sqlState = regexp.MustCompile(`^([0-9][0-9A-Z]|F0|HV|HY|P0|XX)[0-9A-Z][0-9]{2}$`)

func (c *explainFlags) question(a *app) (*wire.Question, error) {
	if c.Error == nil && c.ErrorFile == "" && c.Status == 0 && c.ExitCode == nil && c.Signal == "" && c.Code == "" && !c.Timeout {
		return nil, usagef("there is nothing to explain; give --error, --error-file, --status, --exit-code, --signal, --code or --timeout")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	text, err := c.text(a)
	if err != nil {
		return nil, err
	}
	q := &wire.Question{
		Kind: c.Kind, Queue: c.Queue, Owner: c.Owner, Priority: c.Priority, Attempt: 1, How: job.ByError, Draw: c.Draw, Attrs: []byte(c.Attrs),
		Payload: []byte(c.Payload),
	}
	if c.Attempt != nil {
		q.Attempt = *c.Attempt
	}
	if text != "" {
		q.Evidence = failure.Of(errors.New(text))
	}
	q.Evidence.HTTPStatus, q.Evidence.Exit, q.Evidence.Signal = c.Status, c.ExitCode, c.Signal
	q.Evidence.Code, q.Evidence.ServiceCode = c.Code, c.Code
	if sqlState.MatchString(c.Code) {
		q.Evidence.SQLState = c.Code
	}
	if c.Timeout {
		q.How, q.Stop = job.ByTimeout, policy.TimeLimit
	}
	return q, nil
}

// check returns an error for each flag whose value is out of range.
func (c *explainFlags) check() error {
	var wrong several
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, usagef(format, args...))
		}
	}
	var object map[string]any
	check(c.Error == nil || c.ErrorFile == "", "either --error or --error-file, not both")
	check(c.Status == 0 || c.Status >= 100 && c.Status <= 599, "--status %d: must be 100 to 599", c.Status)
	check(c.ExitCode == nil || *c.ExitCode >= 0 && *c.ExitCode <= math.MaxUint32, "--exit-code: must be 0 to %d", uint32(math.MaxUint32))
	check(len(c.Code) <= failure.CodeMax, "--code of %d bytes: at most %d", len(c.Code), failure.CodeMax)
	check(c.Attempt == nil || *c.Attempt >= 1 && *c.Attempt <= policy.MaxAttemptsLimit,
		"--attempt: must be 1 to %d", policy.MaxAttemptsLimit)
	check(c.Attrs == "" || len(c.Attrs) <= policy.AttrsMax && json.Unmarshal([]byte(c.Attrs), &object) == nil,
		`--attrs: must be a JSON object such as {"duration_seconds":7200}, of at most %d bytes`, policy.AttrsMax)
	check(c.Draw == nil || *c.Draw >= 0 && *c.Draw < 1, "--draw: must be 0 or more and below 1")
	return wrong.asError()
}

// text returns the text of the error, from the command line or from a file.
func (c *explainFlags) text(a *app) (string, error) {
	if c.Error != nil {
		return *c.Error, nil
	}
	if c.ErrorFile == "" {
		return "", nil
	}
	in, err := a.input(c.ErrorFile)
	if err != nil {
		return "", fmt.Errorf("read the error: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, errorTextMax+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the error: %w", err)
	case len(text) > errorTextMax:
		return "", fmt.Errorf("the error text is longer than %d bytes; give only its end, which usually has the cause", errorTextMax)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// ruling writes the class and the decision for one error.
func (p *page) ruling(a *wire.Ruling) {
	title := fmt.Sprintf("Attempt %d", a.Attempt)
	if a.Kind != "" {
		title += " of " + a.Kind
	}
	switch {
	case a.Held != "":
		title += " does not come"
	case a.Asked != 0:
		title += fmt.Sprintf(" is the last, so there is no attempt %d", a.Asked)
	}
	fmt.Fprintf(p.w, "%s\n", p.style.bold(words.Clean(title)))
	lines := words.Facts{}
	lines.Add("held", a.Held)
	for _, f := range a.Facts {
		lines.Add(f.Name, f.Text)
		if d := a.Draw; d != nil && f.Name == "formula" {
			lines.Add("draw", fmt.Sprintf("gives from %s to %s; shown is the middle, %g",
				words.Span(time.Duration(d.Low)*time.Millisecond), words.Span(time.Duration(d.High)*time.Millisecond), d.U))
		}
	}
	if len(a.Facts) == 0 {
		lines.Add("rules", strings.Join(a.Rules, ", "))
	}
	lines.Add("queue", a.Queue)
	if a.Priority > 0 {
		lines.Add("priority", fmt.Sprint(a.Priority))
	}
	for _, key := range slices.Sorted(maps.Keys(a.Overrides)) {
		lines.Add("override", key+"="+a.Overrides[key])
	}
	lines.Add("rules would", a.Would)
	for _, problem := range a.Failed {
		lines.Add("rule failed", problem)
	}
	p.facts(lines)
	p.indented("message", a.Message)
	p.indented("users see", a.Users)
	p.indented("to do", a.Operator)
}

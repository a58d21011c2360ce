package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// explainFlags describe an error that somebody asks about.
type explainFlags struct {
	jsonFlag
	Error     *string  `placeholder:"TEXT" help:"What the error says."`
	ErrorFile string   `placeholder:"FILE" help:"A file with what the error says, such as the end of a log; - reads standard input."`
	Status    int      `placeholder:"N" help:"HTTP status, 100 to 599."`
	ExitCode  *int     `placeholder:"N" help:"Exit code of a command."`
	Signal    string   `placeholder:"NAME" help:"Signal that ended a command, such as SIGKILL."`
	Code      string   `placeholder:"CODE" help:"Code of the handler or the other side, such as ECONNRESET, SlowDown or 40001."`
	Timeout   bool     `help:"The time limit of the kind ended the run."`
	Kind      string   `placeholder:"NAME" help:"Kind of the job."`
	Queue     string   `placeholder:"NAME" default:"default" help:"Queue of the job, for the rules of the policy. Default: default."`
	Priority  int      `placeholder:"N" default:"2" help:"Priority of the job, for the rules. Default 2."`
	Owner     string   `placeholder:"NAME" help:"Owner of the job, for the rules."`
	Attempt   *int     `placeholder:"N" help:"The attempt that failed, from 1. Default 1."`
	Attrs     string   `placeholder:"JSON" help:"Attributes of the job, an object, for the rules of the policy."`
	Policy    string   `placeholder:"FILE|preset:NAME" help:"Another policy than that of the configuration."`
	Draw      *float64 `placeholder:"U" help:"The draw of the jitter, from 0 to below 1. Default: the middle, with the range."`
}

// errorTextMax is the longest error that is read; the classifier looks at
// its beginning and end.
const errorTextMax = 64 << 20

// explainError tells what would be decided about an error.
func (c *explainFlags) explainError(a *app) error {
	q, err := c.question(a)
	if err != nil {
		return err
	}
	p, err := a.effectivePolicy(c.Policy)
	if err != nil {
		return err
	}
	r := q.rule(p)
	if c.JSON {
		return a.printJSON(r)
	}
	page := &page{w: a.out, style: a.styleOf(a.stdout)}
	page.ruling(&r)
	return nil
}

// effectivePolicy returns the policy that decides under the configuration; name
// puts another one in its place.
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

// question is a failure that a decision is asked about.
type question struct {
	kind     string
	queue    string
	owner    string
	priority int
	attempt  int
	evidence failure.Evidence
	how      policy.How
	stop     policy.Stop
	attrs    []byte
	draw     *float64
}

// sqlState is the form of a SQLSTATE, whose class begins with two signs that a
// number can be among.
var sqlState = regexp.MustCompile(`^([0-9][0-9A-Z]|F0|HV|HY|P0|XX)[0-9A-Z][0-9]{2}$`)

func (c *explainFlags) question(a *app) (*question, error) {
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
	q := &question{kind: c.Kind, queue: c.Queue, owner: c.Owner, priority: c.Priority, attempt: 1, how: policy.ByError, draw: c.Draw, attrs: []byte(c.Attrs)}
	if c.Attempt != nil {
		q.attempt = *c.Attempt
	}
	if text != "" {
		q.evidence = failure.Of(errors.New(text))
	}
	q.evidence.HTTPStatus, q.evidence.Exit, q.evidence.Signal = c.Status, c.ExitCode, c.Signal
	q.evidence.Code, q.evidence.ServiceCode = c.Code, c.Code
	if sqlState.MatchString(c.Code) {
		q.evidence.SQLState = c.Code
	}
	if c.Timeout {
		q.how, q.stop = policy.ByTimeout, policy.TimeLimit
	}
	return q, nil
}

// check returns every flag that is out of bounds.
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
	check(c.Attempt == nil || *c.Attempt >= 1 && *c.Attempt <= policy.AttemptsLimit,
		"--attempt: must be 1 to %d", policy.AttemptsLimit)
	check(c.Attrs == "" || len(c.Attrs) <= policy.AttrsMax && json.Unmarshal([]byte(c.Attrs), &object) == nil,
		`--attrs: must be a JSON object such as {"duration_seconds":7200}, of at most %d bytes`, policy.AttrsMax)
	check(c.Draw == nil || *c.Draw >= 0 && *c.Draw < 1, "--draw: must be 0 or more and below 1")
	return wrong.asError()
}

// text returns what the error says, from the command line or from a file.
func (c *explainFlags) text(a *app) (string, error) {
	if c.Error != nil {
		return *c.Error, nil
	}
	in := a.in
	switch c.ErrorFile {
	case "":
		return "", nil
	case "-":
	default:
		f, err := os.Open(c.ErrorFile)
		if err != nil {
			return "", fmt.Errorf("read the error: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, errorTextMax+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the error: %w", err)
	case len(text) > errorTextMax:
		return "", fmt.Errorf("the error is longer than %d bytes; give its end, which has the cause", errorTextMax)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// ruling is what a policy says about a question.
type ruling struct {
	Kind      string            `json:"kind,omitempty"`
	Attempt   int               `json:"attempt"` // that the decision is about
	Asked     int               `json:"asked_attempt,omitempty"`
	Held      string            `json:"held,omitempty"` // why the job does not run at all
	Rules     []string          `json:"rules,omitempty"`
	Queue     string            `json:"queue,omitempty"` // where rules send the job
	Priority  int               `json:"priority,omitempty"`
	Overrides map[string]string `json:"overrides,omitempty"`
	Failed    []string          `json:"failed_rules,omitempty"`
	Would     string            `json:"rules_would,omitempty"` // where the policy only observes
	Decision  json.RawMessage   `json:"decision,omitempty"`
	Facts     []policy.Fact     `json:"facts,omitempty"`
	Draw      *drawRange        `json:"draw,omitempty"`
	Message   string            `json:"message,omitempty"`
	Users     string            `json:"user_message,omitempty"`
	Operator  string            `json:"operator,omitempty"`

	reason string
}

// drawRange is what the jitter makes of a wait.
type drawRange struct {
	U    float64 `json:"u"` // that the decision shows
	Low  int64   `json:"low_us"`
	High int64   `json:"high_us"`
}

// middle is the draw that stands for all, and almostOne the largest.
const middle, almostOne = 0.5, 1 - 1.0/(1<<53)

// wouldDo tells what rules would do if the policy did more than observe.
func wouldDo(a *policy.Admission) string {
	if a == nil {
		return ""
	}
	var does []string
	if a.Hold != nil {
		does = append(does, "hold the job before it runs")
	}
	if a.Queue != "" {
		does = append(does, "send it to queue "+a.Queue)
	}
	if a.Priority > 0 {
		does = append(does, fmt.Sprintf("give it priority %d", a.Priority))
	}
	for _, key := range sortedKeys(a.Overrides) {
		does = append(does, "hand "+key+"="+a.Overrides[key]+" to the handler")
	}
	if len(does) == 0 {
		return ""
	}
	return strings.Join(does, ", ") + "; the policy only observes"
}

func (q *question) rule(p *policy.Policy) ruling {
	a := ruling{Kind: q.kind}
	admission := p.Admit(&policy.Job{
		Kind: q.kind, Queue: q.queue, Owner: q.owner, Priority: q.priority, Attrs: q.attrs,
	})
	if admission != nil {
		a.Rules, a.Queue, a.Priority, a.Overrides = admission.Rules, admission.Queue, admission.Priority, admission.Overrides
		for _, problem := range admission.Failed {
			a.Failed = append(a.Failed, problem.String())
		}
		a.Would = wouldDo(admission.Would)
		if admission.Hold != nil {
			a.Attempt, a.Users = 1, admission.Hold.Message
			a.Held = "a rule holds the job before it runs, until a person decides: " + strings.Join(admission.Rules, ", ")
			return a
		}
	}
	u := middle
	if q.draw != nil {
		u = *q.draw
	}
	d, attempt := q.decide(p, admission, u)
	record, err := policy.ParseRecord(d.Record())
	if err != nil {
		panic("a decision was written that cannot be read: " + err.Error())
	}
	if a.Attempt = attempt; attempt != q.attempt {
		a.Asked = q.attempt
	}
	a.Decision, a.Facts, a.reason = d.Record(), record.Facts(), record.Reason()
	if q.draw == nil {
		a.Draw = q.drawn(p, admission, &d)
	}
	a.Message = failure.Sanitize(q.evidence.Message, nil)
	info := p.Info(d.Class)
	a.Operator, a.Users = info.Operator, info.Dead
	if d.Action == policy.Retry {
		a.Users = info.Retrying
	}
	return a
}

// drawn returns how much the draw moves the wait of a decision; nil if nothing.
func (q *question) drawn(p *policy.Policy, a *policy.Admission, d *policy.Decision) *drawRange {
	low, _ := q.decide(p, a, 0)
	high, _ := q.decide(p, a, almostOne)
	if d.Action != policy.Retry || low.Wait == high.Wait {
		return nil
	}
	return &drawRange{U: middle, Low: low.Wait.Microseconds(), High: high.Wait.Microseconds()}
}

// decide returns the decision about the last attempt with a draw, and the number
// of the attempt that it is about: an earlier one if the job does not come so far.
func (q *question) decide(p *policy.Policy, a *policy.Admission, u float64) (d policy.Decision, attempt int) {
	in := policy.Input{Kind: q.kind, Evidence: &q.evidence, How: q.how, Stop: q.stop, Admission: a, U: middle}
	in.Class = sanitised(p.Classify(&q.evidence, q.kind))
	for attempt = 1; ; attempt++ {
		in.Attempts = attempt - 1
		if attempt == q.attempt {
			in.U = u
		}
		d = p.Decide(&in)
		if attempt == q.attempt || d.Action != policy.Retry {
			return d, attempt
		}
		in.Memo, in.Age = d.Memo, in.Age+d.Wait
	}
}

// sanitised takes what nobody must see out of what a classification quotes.
func sanitised(c policy.Classification) policy.Classification {
	c.Saw = failure.Sanitize(c.Saw, nil)
	for i := range c.Beat {
		c.Beat[i].Saw = failure.Sanitize(c.Beat[i].Saw, nil)
	}
	return c
}

// ruling writes a ruling.
func (p *page) ruling(a *ruling) {
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
	fmt.Fprintf(p.w, "%s\n", p.style.bold(clean(title)))
	lines := facts{}
	lines.add("held", a.Held)
	for _, f := range a.Facts {
		lines.add(f.Name, f.Text)
		if d := a.Draw; d != nil && f.Name == "formula" {
			lines.add("draw", fmt.Sprintf("gives from %s to %s; shown is the middle, %g",
				span(job.Micros(d.Low).Sub(0)), span(job.Micros(d.High).Sub(0)), d.U))
		}
	}
	if len(a.Facts) == 0 {
		lines.add("rules", strings.Join(a.Rules, ", "))
	}
	lines.add("queue", a.Queue)
	if a.Priority > 0 {
		lines.add("priority", fmt.Sprint(a.Priority))
	}
	for _, key := range sortedKeys(a.Overrides) {
		lines.add("override", key+"="+a.Overrides[key])
	}
	lines.add("rules would", a.Would)
	for _, problem := range a.Failed {
		lines.add("rule failed", problem)
	}
	lines.print(p)
	p.indented("message", a.Message)
	p.indented("users see", a.Users)
	p.indented("to do", a.Operator)
}

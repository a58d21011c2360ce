package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/logread"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// logGroupsMax is the largest number of groups of failures. Further ones share one group.
const logGroupsMax = 10_000

// explainLog prints what the policy would decide about each failure in a log.
func (c *policyExplainCmd) explainLog(a *app) error {
	if c.Error != nil || c.ErrorFile != "" || c.Status != 0 || c.ExitCode != nil || c.Signal != "" || c.Code != "" || c.Timeout {
		return usagef("--log reads the errors from a file; leave out --error, --error-file, --status, --exit-code, --signal, --code and --timeout")
	}
	if err := c.check(); err != nil {
		return err
	}
	in, err := a.input(c.Log)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer in.Close()
	p, err := a.effectivePolicy(c.Policy)
	if err != nil {
		return err
	}
	l, err := c.group(in, p)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if c.JSON {
		return a.printJSON(l)
	}
	page := &page{w: a.out, style: a.styleOf(a.stdout)}
	page.loggedFailures(l)
	return nil
}

func (c *policyExplainCmd) group(in io.Reader, p *policy.Policy) (*wire.LoggedFailures, error) {
	l := &wire.LoggedFailures{Policy: p.Name(), Hash: p.Hash(), Groups: []*wire.LoggedGroup{}}
	groups := map[string]*wire.LoggedGroup{}
	lines, err := logread.Read(bufio.NewReader(in), func(e *logread.Entry) {
		q := wire.Question{
			Kind: cmp.Or(e.Kind, c.Kind), Queue: c.Queue, Owner: c.Owner, Priority: c.Priority, Attempt: 1, How: job.ByError, Attrs: []byte(c.Attrs),
			Evidence: failure.Of(errors.New(e.Text)),
		}
		if c.Attempt != nil {
			q.Attempt = *c.Attempt
		}
		q.Evidence.HTTPStatus, q.Evidence.Exit, q.Evidence.Signal = e.Status, e.Exit, e.Signal
		found := p.Classify(&q.Evidence, q.Kind)
		if !e.Failed && found.Rule == "" {
			return
		}
		l.Failures++
		message := words.FirstLine(failure.Sanitize(cmp.Or(found.Line, e.Headline()), nil))
		key := failure.Fingerprint(q.Kind, found.Class, found.Code, e.Text).Key
		if g := groups[key]; g != nil {
			g.Count++
			return
		}
		ruling := q.Ask(p)
		g := &wire.LoggedGroup{Count: 1, Line: e.Line, Kind: q.Kind, Class: string(found.Class), Rule: found.Rule, Decision: cmp.Or(ruling.Held, ruling.Reason), Message: message}
		if record, err := policy.ParseRecord(ruling.Decision); err == nil {
			g.Class = string(record.Class)
		}
		if len(groups) >= logGroupsMax {
			key, g.Message = "", "failures of other groups"
			if other := groups[key]; other != nil {
				other.Count++
				return
			}
		}
		groups[key] = g
		l.Groups = append(l.Groups, g)
	})
	l.Lines = lines
	slices.SortStableFunc(l.Groups, func(a, b *wire.LoggedGroup) int { return cmp.Compare(b.Count, a.Count) })
	return l, err
}

func (p *page) loggedFailures(l *wire.LoggedFailures) {
	retried, final := 0, 0
	for _, g := range l.Groups {
		if strings.HasPrefix(g.Decision, "retry") {
			retried += g.Count
		} else {
			final += g.Count
		}
	}
	fmt.Fprintf(p.w, "%s, %s in %s; policy %s, hash %s\n", words.Count(int64(l.Lines), "line"), words.Count(int64(l.Failures), "failure"),
		words.Count(int64(len(l.Groups)), "group"), cmp.Or(l.Policy, "without a name"), policy.ShortHash(l.Hash))
	fmt.Fprintf(p.w, "%s would be retried, %s would not.\n", words.Number(int64(retried)), words.Number(int64(final)))
	for _, g := range l.Groups {
		fmt.Fprintf(p.w, "\n%7s  %s  %s\n", words.Number(int64(g.Count)), p.style.bold(words.Clean(g.Class)), words.Shorten(words.Clean(g.Decision), 80-11-len(g.Class)))
		place := fmt.Sprintf("line %d", g.Line)
		if g.Kind != "" {
			place += ", " + g.Kind
		}
		if g.Rule != "" {
			place += ", by " + g.Rule
		}
		fmt.Fprintf(p.w, "         %s\n         %s\n", words.Shorten(words.Clean(g.Message), 80-9), p.style.faint(words.Shorten(words.Clean(place), 80-9)))
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type dlqCmd struct {
	List    dlqListCmd    `cmd:"" help:"List dead letters, newest first."`
	Show    dlqShowCmd    `cmd:"" help:"Show a dead letter: its cause, its runs, past actions and what to do next."`
	Groups  dlqGroupsCmd  `cmd:"" help:"List dead letters by root cause."`
	Stats   dlqStatsCmd   `cmd:"" help:"Count dead letters, and show how many retries succeed."`
	Retry   dlqRetryCmd   `cmd:"" help:"Retry dead jobs at once, in a new life."`
	Redrive dlqRedriveCmd `cmd:"" help:"Retry many jobs in steps: a few first, then more and more."`
	Resolve dlqResolveCmd `cmd:"" help:"Close dead letters."`
	Ignore  dlqIgnoreCmd  `cmd:"" help:"Ignore dead letters, permanently or for some time."`
	Reopen  dlqReopenCmd  `cmd:"" help:"Make resolved and ignored dead letters pending again."`
	Purge   dlqPurgeCmd   `cmd:"" help:"Remove resolved and ignored dead letters with their jobs."`
	Export  dlqExportCmd  `cmd:"" help:"Write dead letters as CSV or JSON lines."`
}

// statusFlag is the value of a flag: the status of a dead letter.
type statusFlag job.Status

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *statusFlag) UnmarshalText(text []byte) error {
	known := make([]string, len(job.Statuses))
	for i, status := range job.Statuses {
		if known[i] = status.String(); known[i] == string(text) {
			*s = statusFlag(status)
			return nil
		}
	}
	return errors.New(suggest.Unknown("status", string(text), known))
}

// reasons lists all reasons why a job can become dead.
var reasons = [...]job.Reason{
	job.NonRetriable, job.MaxRetries, job.Stalled, job.DeadlineOver, job.MaxCost, job.HintTooLong, job.ManualReview,
}

// deadFlags are the flags that select dead letters. All commands about dead letters have
// them.
type deadFlags struct {
	Status  []statusFlag `placeholder:"STATUS" help:"Select by status: pending, retried, resolved or ignored."`
	Reason  string       `placeholder:"REASON" help:"Select by the reason of the death, such as max_retries_exceeded."`
	Class   string       `placeholder:"CLASS" help:"Select by the class of the failure, such as NetworkTimeout."`
	Kind    string       `placeholder:"NAME" help:"Select by kind."`
	Queue   string       `placeholder:"NAME" help:"Select by queue."`
	Owner   string       `placeholder:"NAME" help:"Select by owner."`
	Group   string       `placeholder:"GROUP" help:"Select by group: the name of a group, or its beginning; see dlq groups."`
	Since   string       `placeholder:"WHEN" help:"Select deaths since this time, such as 2026-01-31T18:00, or since this long ago, such as 2h or 3d."`
	Until   string       `placeholder:"WHEN" help:"Select deaths before this time, in the same forms."`
	Text    string       `placeholder:"TEXT" help:"Select messages that contain this text, in any case."`
	Redrive int64        `placeholder:"N" help:"Select jobs that this redrive was the last to retry."`
}

func (f *deadFlags) isZero() bool { return reflect.ValueOf(*f).IsZero() }

// filter makes a filter from the flags. It looks up the full fingerprint of the group,
// because the store needs it.
func (f *deadFlags) filter(ctx context.Context, a *app, client *redrive.Client) (redrive.DeadFilter, error) {
	filter := redrive.DeadFilter{
		Reason: job.Reason(f.Reason), Class: f.Class, Kind: f.Kind, Queue: f.Queue, Owner: f.Owner, Text: f.Text, Redrive: f.Redrive,
	}
	for _, s := range f.Status {
		filter.Statuses = append(filter.Statuses, job.Status(s))
	}
	if f.Reason != "" && !slices.Contains(reasons[:], filter.Reason) {
		return filter, usagef("--reason: %s; --note says why you do something", suggest.Unknown("reason", f.Reason, texts(reasons[:])))
	}
	var err error
	now := a.now()
	if filter.Since, err = past("--since", f.Since, now); err != nil {
		return filter, err
	}
	if filter.Until, err = past("--until", f.Until, now); err != nil {
		return filter, err
	}
	if err := filter.Validate(); err != nil {
		return filter, &usageError{err}
	}
	if f.Group != "" {
		if filter.Group, err = findGroup(ctx, client, f.Group); err != nil {
			return filter, err
		}
	}
	return filter, nil
}

func texts[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// groupPagesMax is the largest number of pages of groups that are read to find a group by
// the beginning of its name. The most recent groups are read first. A full name needs no
// search.
const groupPagesMax = 20

// findGroup returns the fingerprint that begins with a name. The name may leave out the
// version in front. It is an error if several fingerprints match.
func findGroup(ctx context.Context, client *redrive.Client, name string) (string, error) {
	whole := []string{name}
	for version := failure.FingerprintVersion; version > 0; version-- {
		whole = append(whole, fmt.Sprintf("%d:%s", version, name))
	}
	for _, fingerprint := range whole {
		exact, err := client.Groups(ctx, redrive.GroupFilter{Group: fingerprint, Limit: 1})
		if err != nil {
			return "", fmt.Errorf("read groups: %w", err)
		}
		if len(exact.Groups) == 1 {
			return fingerprint, nil
		}
	}
	found, total, err := groupsNamed(ctx, client, name)
	const most = groupPagesMax * job.PageMax
	switch {
	case err != nil:
		return "", err
	case len(found) > 1:
		return "", usagef("group %.64q: the names of several groups begin with it, such as %s and %s; write more of the name", name, found[0], found[1])
	case total > most && len(found) == 1:
		return "", usagef("group %.64q: %s begins with it, but of %s groups only the last %s were searched; write the whole name",
			name, found[0], words.Number(int64(total)), words.Number(most))
	case total > most:
		return "", absentf("group %.64q: no name of the last %s groups begins with it, and the other %s were not searched; write the whole name",
			name, words.Number(most), words.Number(int64(total-most)))
	case len(found) == 0:
		return "", absentf("group %.64q: there is no group of that name; see `redrive dlq groups`", name)
	}
	return found[0], nil
}

// groupsNamed returns at most two groups whose name begins with a text, and the total
// number of groups.
func groupsNamed(ctx context.Context, client *redrive.Client, name string) (found []string, total int, err error) {
	for page := range groupPagesMax {
		groups, err := client.Groups(ctx, redrive.GroupFilter{Skip: page * job.PageMax, Limit: job.PageMax})
		if err != nil {
			return nil, 0, fmt.Errorf("read groups: %w", err)
		}
		total = groups.Total
		for i := range groups.Groups {
			fingerprint := groups.Groups[i].Fingerprint
			_, key, _ := strings.Cut(fingerprint, ":")
			// A group can appear twice: it moves to the front when a new dead letter joins
			// it during the search.
			if (strings.HasPrefix(fingerprint, name) || strings.HasPrefix(key, name)) && !slices.Contains(found, fingerprint) {
				found = append(found, fingerprint)
			}
		}
		if len(groups.Groups) < job.PageMax || len(found) > 1 {
			break
		}
	}
	return found, total, nil
}

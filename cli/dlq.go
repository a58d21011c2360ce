package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	Groups  dlqCausesCmd  `cmd:"" help:"List dead letters by root cause, and work on the causes."`
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
	status, err := wordOf("status", text, job.Statuses[:])
	*s = statusFlag(status)
	return err
}

// wordOf returns the value that a word of a fixed list names. The error about an unknown
// word suggests the most similar one.
func wordOf[S fmt.Stringer](what string, text []byte, all []S) (value S, err error) {
	known := make([]string, len(all))
	for i := range all {
		if known[i] = all[i].String(); known[i] == string(text) {
			return all[i], nil
		}
	}
	return value, errors.New(suggest.Unknown(what, string(text), known))
}

// reasons lists all reasons why a job can become dead.
var reasons = [...]job.Reason{
	job.NonRetriable, job.MaxRetries, job.Stalled, job.DeadlineOver, job.MaxCost, job.HintTooLong, job.ManualReview,
	job.Malformed, job.UnknownType, job.KeyConflict,
}

// deadFlags are the flags that select dead letters. All commands about dead letters have
// them.
type deadFlags struct {
	Status []statusFlag `placeholder:"STATUS" help:"Only with this status: pending, retried, resolved or ignored."`
	selectFlags
	Since   string `placeholder:"WHEN" help:"Only deaths since this time, such as 2026-01-31T18:00, or since a duration ago, such as 2h or 3d."`
	Until   string `placeholder:"WHEN" help:"Only deaths before this time, in the same forms."`
	Redrive int64  `placeholder:"N" help:"Only jobs that this redrive was the last to retry."`
}

func (f *deadFlags) isZero() bool { return reflect.ValueOf(*f).IsZero() }

// filter makes a filter from the flags. It looks up the full fingerprint of the group,
// because the store needs it.
func (f *deadFlags) filter(ctx context.Context, a *app, client *redrive.Client) (redrive.DeadFilter, error) {
	of, err := f.fields("; --note says why you do something")
	if err != nil {
		return redrive.DeadFilter{}, err
	}
	filter := redrive.DeadFilter{
		Reason: of.Reason, Class: of.Class, Kind: of.Kind, Queue: of.Queue, Owner: of.Owner, Batch: of.Batch, Worker: of.Worker,
		Correlation: of.Correlation, Key: of.Key, Attr: of.Attr, Text: of.Text, Redrive: f.Redrive,
	}
	for _, s := range f.Status {
		filter.Statuses = append(filter.Statuses, job.Status(s))
	}
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
		groups, err := findCauses(ctx, client, f.Group)
		switch {
		case err != nil:
			return filter, err
		case len(groups) == 1:
			filter.Group = groups[0]
		default:
			filter.Groups = groups
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

// findGroup returns the fingerprint that begins with a name. The name may leave out the version
// at the beginning of a fingerprint. It is an error if several fingerprints match.
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
		n := &nameReader{all: map[string]string{}}
		if err := n.read(ctx, client, "group"); err != nil {
			return "", fmt.Errorf("read groups: %w", err)
		}
		hint := cmp.Or(suggest.DidYouMean(name, slices.Sorted(maps.Keys(n.all))), "; see `redrive dlq groups`")
		return "", absentf("group %.64q: there is no group of that name%s", name, hint)
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
			// The pages can contain a group twice: if a new dead letter joins it during the search,
			// it moves to the front of the list.
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

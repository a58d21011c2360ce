package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// manyGroups is a fake store. It has more groups than a search by the beginning of a name reads.
type manyGroups struct {
	store.Store
	total, pages int
}

func groupName(i int) string { return fmt.Sprintf("1:%015x0", i) }

func (c *manyGroups) Groups(_ context.Context, f redrive.GroupFilter) (redrive.GroupPage, error) {
	page := redrive.GroupPage{Total: c.total}
	if f.Group != "" {
		var i int
		if _, err := fmt.Sscanf(f.Group, "1:%x", &i); err == nil && i>>4 < c.total && f.Group == groupName(i>>4) {
			page.Groups = []redrive.Group{{Fingerprint: f.Group}}
		}
		return page, nil
	}
	c.pages++
	for i := f.Skip; i < min(f.Skip+f.Limit, c.total); i++ {
		page.Groups = append(page.Groups, redrive.Group{Fingerprint: groupName(i)})
	}
	return page, nil
}

// part of: D6
func TestD6_TheSearchForAGroupIsBounded(t *testing.T) {
	t.Parallel()
	const most = groupPagesMax * job.PageMax
	st := &manyGroups{total: 3 * most}
	client := clientOn(t, st)
	last := groupName(st.total - 1)
	for _, name := range []string{last, strings.TrimPrefix(last, "1:")} {
		if got, err := findGroup(t.Context(), client, name); err != nil || got != last || st.pages != 0 {
			t.Errorf("findGroup(%q) returned %q after %d pages with error %v, want the whole name, no page and no error", name, got, st.pages, err)
		}
	}
	for name, want := range map[string]wire.Kind{last[:17]: wire.NotFound, groupName(17)[:18] + "x": wire.NotFound, "1:0000": wire.InvalidField} {
		st.pages = 0
		got, err := findGroup(t.Context(), client, name)
		if wire.KindOf(err) != want || st.pages > groupPagesMax {
			t.Errorf("findGroup(%q) returned %q after %d pages with error %v, want an error of kind %s after at most %d pages", name, got, st.pages, err, want, groupPagesMax)
		}
		if want == wire.NotFound && (err == nil || !strings.Contains(err.Error(), "20,000 were not searched")) {
			t.Errorf("findGroup(%q): got the error %v, want an error that says that 20,000 groups were not searched", name, err)
		}
	}
	// One match is not enough if the search did not read all groups, because another group may also
	// match.
	if got, err := findGroup(t.Context(), client, groupName(17)[:17]); wire.KindOf(err) != wire.InvalidField || !strings.Contains(err.Error(), "write the whole name") {
		t.Errorf("findGroup with one match in an incomplete search returned %q and error %v, want an error that asks for the whole name", got, err)
	}
	client = clientOn(t, &manyGroups{total: 257}) // a search reads all of these groups
	if got, err := findGroup(t.Context(), client, groupName(256)[:17]); err != nil || got != groupName(256) {
		t.Errorf("findGroup returned %q and error %v, want the only match %q", got, err, groupName(256))
	}
}

// logged is a fake store with a long audit log.
type logged struct {
	store.Store
	rows int64
	make func(seq int64) redrive.AuditEntry
}

// AuditPage examines at most 500 entries for each page.
func (l *logged) AuditPage(_ context.Context, f redrive.AuditFilter) (redrive.AuditPage, error) {
	page := redrive.AuditPage{Last: l.rows}
	seq := l.rows
	if f.Before > 0 {
		seq = f.Before - 1
	}
	for n := 0; seq > 0; n, seq = n+1, seq-1 {
		if n == 500 || len(page.Entries) == f.Limit {
			page.Next, page.Searched = seq+1, job.Micros(seq+1)
			return page, nil
		}
		r := l.make(seq)
		r.Seq, r.At = seq, job.Micros(seq)
		if f.Matches(&r) {
			page.Entries = append(page.Entries, r)
		}
	}
	return page, nil
}

// proves: Q9
func TestQ9_TheFirstOfManyRowsIsFound(t *testing.T) {
	t.Parallel()
	st := &logged{rows: 250_001, make: func(seq int64) redrive.AuditEntry {
		if seq == 3 {
			return redrive.AuditEntry{Actor: "ann"}
		}
		return redrive.AuditEntry{Actor: "tess"}
	}}
	found, err := auditPages(t.Context(), clientOn(t, st), redrive.AuditFilter{Actor: "ann", Limit: 2}, 0)
	if err != nil || len(found.Entries) != 1 || found.Entries[0].Seq != 3 || found.Searched != 0 {
		t.Errorf("the search of the audit log found %+v with error %v, want only entry 3", found, err)
	}
}

// The actions on job 17 do not include actions on redrive 17 or on a queue with the name 17.
//
// proves: D2
func TestD2_ActsOnAJobAreItsOwn(t *testing.T) {
	t.Parallel()
	actions := []string{"dead_letter.ignore", "redrive.start", "job.retry", "queue.pause", "dead_letter.resolve"}
	st := &logged{rows: int64(len(actions)), make: func(seq int64) redrive.AuditEntry {
		return redrive.AuditEntry{Action: actions[seq-1], Target: "17"}
	}}
	found, err := actsOn(t.Context(), clientOn(t, st), 17)
	var got []string
	for _, r := range found.Entries {
		got = append(got, r.Action)
	}
	if err != nil || strings.Join(got, " ") != "dead_letter.resolve job.retry dead_letter.ignore" || found.Searched != 0 {
		t.Errorf("got actions %v on job 17 with error %v, want dead_letter.resolve, job.retry and dead_letter.ignore", got, err)
	}
	if found, err := actsOn(t.Context(), clientOn(t, st), 18); err != nil || len(found.Entries) > 0 {
		t.Errorf("got actions %+v on job 18 with error %v, want no actions", found, err)
	}
}

// proves: D2
func TestD2_ASearchThatEndedEarlySaysSo(t *testing.T) {
	t.Parallel()
	st := &logged{rows: 10_007, make: func(seq int64) redrive.AuditEntry {
		return redrive.AuditEntry{Action: "job.retry", Target: fmt.Sprint(seq), Actor: "tess"}
	}}
	st.Store = withDead(t, 1)
	client := clientOn(t, st)
	d, err := readDead(t.Context(), client, 1, &config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	p := &page{w: &out, now: 1 << 40}
	p.dead(d, len(d.Job.Payload))
	if !strings.Contains(out.String(), "What was done\n  searched back to 1970-01-01") || !strings.Contains(out.String(), "`redrive audit --target 1`") {
		t.Errorf("the page of the dead letter does not say how far the audit log was searched, want a sentence about this; the page is:\n%s", out.String())
	}
	if v := wire.DeadDetailsOf(d, commandLine); v.Searched == 0 || len(v.Acts) != 0 {
		t.Errorf("the JSON says that the log was searched to %d and has actions %+v, want a number above 0 and no actions", v.Searched, v.Acts)
	}
	st.rows = 3
	if d, err = readDead(t.Context(), client, 1, &config.Config{}); err != nil || d.Searched != 0 || len(d.Acts) != 1 {
		t.Errorf("a short audit log gave actions %+v, searched to %d, error %v; want one action and searched to 0", d.Acts, d.Searched, err)
	}
}

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

// manyGroups is a store with so many groups that a search by the beginning of a name does
// not look at all of them.
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
			t.Errorf("%q is %q after %d pages, %v", name, got, st.pages, err)
		}
	}
	for name, want := range map[string]wire.Kind{last[:17]: wire.NotFound, groupName(17)[:18] + "x": wire.NotFound, "1:0000": wire.InvalidField} {
		st.pages = 0
		got, err := findGroup(t.Context(), client, name)
		if wire.KindOf(err) != want || st.pages > groupPagesMax {
			t.Errorf("%q is %q after %d pages, %v", name, got, st.pages, err)
		}
		if want == wire.NotFound && (err == nil || !strings.Contains(err.Error(), "20,000 were not searched")) {
			t.Errorf("%q: %v does not say that the search ended early", name, err)
		}
	}
	// A match among the groups that were searched need not be the only one.
	if got, err := findGroup(t.Context(), client, groupName(17)[:17]); wire.KindOf(err) != wire.InvalidField || !strings.Contains(err.Error(), "write the whole name") {
		t.Errorf("a match before the end of the search: %q, %v, want an error", got, err)
	}
	client = clientOn(t, &manyGroups{total: 257}) // few enough to search them all
	if got, err := findGroup(t.Context(), client, groupName(256)[:17]); err != nil || got != groupName(256) {
		t.Errorf("the only match is %q, %v", got, err)
	}
}

// logged is a store with a long audit log.
type logged struct {
	store.Store
	rows int64
	make func(seq int64) redrive.AuditEntry
}

func (l *logged) Audit(_ context.Context, after int64, limit int) (rows []redrive.AuditEntry, err error) {
	for seq := after + 1; seq <= min(l.rows, after+int64(limit)); seq++ {
		r := l.make(seq)
		r.Seq, r.At = seq, job.Micros(seq)
		rows = append(rows, r)
	}
	return rows, nil
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
	c := &auditCmd{Actor: "ann", Limit: 2}
	found, err := clientOn(t, st).Audit(t.Context(), c.filter(0))
	if err != nil || len(found.Entries) != 1 || found.Entries[0].Seq != 3 || found.SearchedTo != 0 {
		t.Errorf("found %+v, %v, want entry 3 alone", found, err)
	}
}

// Entries about a redrive or a queue with the name of a job are not entries about the job.
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
	if err != nil || strings.Join(got, " ") != "dead_letter.ignore job.retry dead_letter.resolve" || found.SearchedTo != 0 {
		t.Errorf("actions on job 17: %v, %v", got, err)
	}
	if found, err := actsOn(t.Context(), clientOn(t, st), 18); err != nil || len(found.Entries) > 0 {
		t.Errorf("actions on job 18: %+v, %v, want none", found, err)
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
	p.dead(d)
	if !strings.Contains(out.String(), "What was done\n  searched back to 1970-01-01") || !strings.Contains(out.String(), "redrive audit --target 1 ") {
		t.Errorf("the page:\n%s", out.String())
	}
	if v := wire.DeadDetailsOf(d, commandLine); v.Searched == 0 || len(v.Acts) != 0 {
		t.Errorf("searched to %d: %+v", v.Searched, v.Acts)
	}
	st.rows = 3
	if d, err = readDead(t.Context(), client, 1, &config.Config{}); err != nil || d.Searched != 0 || len(d.Acts) != 1 {
		t.Errorf("of a short log: %+v, searched to %d, %v", d.Acts, d.Searched, err)
	}
}

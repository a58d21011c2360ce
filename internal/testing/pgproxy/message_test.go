package pgproxy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVerbs(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"":                             "",
		" ; ;":                         "",
		"commit":                       "COMMIT",
		"/* a; b */ -- COMMIT\n\tEnd;": "END",
		"BEGIN; INSERT INTO t VALUES (';commit'); COMMIT": "BEGIN,INSERT,COMMIT",
		`SELECT "a;b" ; rollback to savepoint x; abort`:   "SELECT,ROLLBACK TO,ABORT",
		"rollback work to x; rollback; rollback work":     "ROLLBACK TO,ROLLBACK,ROLLBACK",
		"DO $$ begin; commit; end $$; select $1":          "DO,SELECT",
		"DO $a1$ ; $$ ; $a1$ ; end":                       "DO,END",
		"select 'it''s; so' -- ;\n; start transaction":    "SELECT,START",
		"select 'no end; commit":                          "SELECT",
		"(select 1); commit":                              "COMMIT",
	} {
		if diff := cmp.Diff(want, strings.Join(verbs(sql), ",")); diff != "" {
			t.Errorf("the verbs of %s differ (-want +got):\n%s", sql, diff)
		}
	}
}

func FuzzVerbs(f *testing.F) {
	f.Add("BEGIN; insert '; -- /* $$' ; ROLLBACK TO x; $a$ ; $a$; COMMIT")
	f.Fuzz(func(t *testing.T, sql string) {
		got := verbs(sql)
		if len(got) > strings.Count(sql, ";")+1 {
			t.Errorf("got %d statements in %q, want at most one more than it has semicolons", len(got), sql)
		}
		// An SQL comment before the text must not change the verbs.
		if diff := cmp.Diff(got, verbs("/* ; */ "+sql)); diff != "" {
			t.Errorf("a comment before the text changes its verbs (-without +with):\n%s", diff)
		}
	})
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte("Q\x00\x00\x00\x0bcommit\x00"), true)
	f.Add([]byte("\x00\x00\x00\x08\x04\xd2\x16\x2f"), false)
	f.Fuzz(func(t *testing.T, in []byte, typed bool) {
		raw, err := readMessage(bytes.NewReader(in), typed)
		if err == nil && !bytes.HasPrefix(in, raw) {
			t.Errorf("readMessage returned %q, want the beginning of its input %q", raw, in)
		}
		if err == nil && typed {
			l := newLink(nil, nil, nil)
			l.read(raw)
		}
	})
}

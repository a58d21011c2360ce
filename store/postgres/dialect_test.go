package postgres

import (
	"slices"
	"strings"
	"testing"
)

func TestTranslate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, want string }{
		{`SELECT a FROM redrive_jobs WHERE id = ?`, `SELECT a FROM "s".redrive_jobs WHERE id = $1`},
		{`INSERT INTO redrive_x (a, b) VALUES (?, ?)`, `INSERT INTO "s".redrive_x (a, b) VALUES ($1, $2)`},
		{`SELECT a FROM redrive_x WHERE a = ?2 AND b = ?1 AND c = ?`, `SELECT a FROM "s".redrive_x WHERE a = $2 AND b = $1 AND c = $3`},
		{`SELECT id FROM redrive_jobs INDEXED BY redrive_ready WHERE lane = +?1 AND (run_at, id) > (+?2, +?3)`,
			`SELECT id FROM "s".redrive_jobs WHERE lane = $1 AND (run_at, id) > ($2, $3)`},
		{`SELECT id FROM redrive_dead NOT INDEXED WHERE NOT indexed_by`, `SELECT id FROM "s".redrive_dead WHERE NOT indexed_by`},
		{`UPDATE OR FAIL redrive_dead NOT INDEXED SET n = n + ?1 WHERE +at <= ?2`,
			`UPDATE "s".redrive_dead SET n = n + $1 WHERE at <= $2`},
		{`DELETE FROM redrive_failures INDEXED BY x WHERE job = +?`, `DELETE FROM "s".redrive_failures WHERE job = $1`},
		{`INSERT INTO redrive_counters (lane, n) VALUES (?1, ?2) ON CONFLICT (lane) DO UPDATE SET n = n + ?2, m = coalesce(m, ?2)`,
			`INSERT INTO "s".redrive_counters (lane, n) VALUES ($1, $2) ON CONFLICT (lane) DO UPDATE SET n = redrive_counters.n + $2, m = coalesce(redrive_counters.m, $2)`},
		{`INSERT INTO redrive_x (a) VALUES (?1) ON CONFLICT (a) DO UPDATE SET a = excluded.a, b = ?1 WHERE slot < ?1 RETURNING a`,
			`INSERT INTO "s".redrive_x (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET a = excluded.a, b = $1 WHERE redrive_x.slot < $1 RETURNING a`},
		{`SELECT max(a), max(coalesce(a, 0), ?1), min(1, ?) FROM redrive_x`,
			`SELECT max(a), greatest(coalesce(a, 0), $1::bigint), least(1, $2::bigint) FROM "s".redrive_x`},
		{`SELECT a FROM redrive_x WHERE (?1 IS NULL OR a = ?1)`, `SELECT a FROM "s".redrive_x WHERE ($1::text IS NULL OR a = $1)`},
		{`SELECT a > 1 << 62 FROM redrive_x`, `SELECT a > 4611686018427387904 FROM "s".redrive_x`},
		{`SELECT a FROM (SELECT 1 AS a FROM redrive_x) WHERE a IN (SELECT b FROM redrive_y)`,
			`SELECT a FROM (SELECT 1 AS a FROM "s".redrive_x) AS part1 WHERE a IN (SELECT b FROM "s".redrive_y)`},
		{`SELECT a FROM redrive_x x, (SELECT 1) y JOIN redrive_z z ON true, redrive_w`,
			`SELECT a FROM "s".redrive_x x, (SELECT 1) y JOIN "s".redrive_z z ON true, "s".redrive_w`},
		{`SELECT a, (SELECT max(a) FROM redrive_x) FROM redrive_y`, `SELECT a, (SELECT max(a) FROM "s".redrive_x) FROM "s".redrive_y`},
		{`SELECT 'redrive_x ? +?' FROM redrive_x WHERE redrive = ?`, `SELECT 'redrive_x ? +?' FROM "s".redrive_x WHERE redrive = $1`},
	} {
		got := strings.Join(strings.Fields(translate(c.from, "s")), " ")
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.from, got, c.want)
		}
	}
}

func TestTranslateQuotesTheSchema(t *testing.T) {
	t.Parallel()
	if got, want := translate(`DELETE FROM redrive_x`, `o"o`), `DELETE FROM "o""o".redrive_x`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestKeywordsAreSorted(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(keywords) {
		t.Error("keywords are looked up by bisection")
	}
}

// Whatever a statement is made of, no part of it gets lost.
func FuzzTokenize(f *testing.F) {
	f.Add(`SELECT a, 'b''c' FROM "x" WHERE ?1 <= +?2 -- é`)
	f.Fuzz(func(t *testing.T, s string) {
		var b strings.Builder
		for _, k := range tokenize(s) {
			b.WriteString(k.text)
		}
		if b.String() != s {
			t.Fatalf("%q became %q", s, b.String())
		}
		translate(s, "s") // must not panic
	})
}

package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/server/access"
)

// Random valid settings are written to a file, and the parser must return the same settings.
// The file is written as JSON, which is also valid YAML, so that the writer and the parser
// share no code.
func TestGoodFilesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := genConfig(t)
		text, err := json.Marshal(written(want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := config.Parse("redrive.yaml", text, want.Dir)
		if err != nil {
			t.Fatalf("parsing a valid file failed: %v\nthe file:\n%s", err, text)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); d != "" {
			t.Fatalf("the settings differ (-want +got):\n%s\nthe file:\n%s", d, text)
		}
	})
}

type object = map[string]any

// written returns the content of a configuration file for c.
func written(c *config.Config) object {
	queues, kinds := object{}, object{}
	for name, q := range c.Queues {
		queues[name] = optional(object{"workers": q.Workers}, q.Limit, q.Rate)
	}
	for name, k := range c.Kinds {
		o := optional(object{
			"command": k.Command, "queue": k.Queue, "timeout": k.Timeout.String(), "kill_grace": k.KillGrace.String(),
			"priority": k.Priority, "max_crashes": k.MaxCrashes, "env": k.Env, "set_env": k.SetEnv, "dir": k.Dir,
			"payload": k.Payload, "output": k.Output, "encoding": k.Encoding, "keep_payload": k.KeepPayload, "permanent_exit_codes": k.PermanentExitCodes,
		}, k.Limit, k.Rate)
		if k.Owner.Retry { // not in kinds that have the default
			o["owner"] = object{"retry": true, "max_retries": k.Owner.MaxRetries, "change": k.Owner.Change, "cancel": k.Owner.Cancel, "feedback": k.Owner.Feedback}
		}
		if k.Workers > 0 {
			o["workers"] = k.Workers
		}
		if k.Schema != "" {
			o["schema"] = k.Schema
		}
		if k.Retry != nil {
			waits := []string{}
			for _, w := range k.Retry.Waits {
				waits = append(waits, w.String())
			}
			o["retry"] = object{"max_retries": k.Retry.MaxRetries, "max_attempts": k.Retry.MaxRetries + 1, "waits": waits}
		}
		kinds[name] = o
	}
	all := object{
		"database": c.Database, "temp_dir": c.TempDir, "development": c.Development,
		"keep_raw": c.KeepRaw, "keep_paths": c.KeepPaths, "keep_addresses": c.KeepAddresses, "hide_emails": c.HideEmails, "lease": c.Lease.String(),
		"rescue_interval": c.RescueInterval.String(), "shutdown_grace": c.ShutdownGrace.String(),
		"max_attempts": c.MaxAttempts,
		"postgres": object{
			"schema": c.Postgres.Schema, "max_conns": c.Postgres.MaxConns,
			"statement_timeout": c.Postgres.StatementTimeout.String(), "pgbouncer": c.Postgres.PgBouncer,
		},
		"log":    object{"level": strings.ToLower(c.Log.Level.String()), "format": c.Log.Format},
		"limits": object{"payload": fmt.Sprintf("%dB", c.Limits.PayloadBytes)},
		"queues": queues,
		"kinds":  kinds,
	}
	spelt := func(d time.Duration) string {
		if d == config.Forever {
			return "forever"
		}
		return d.String()
	}
	all["retention"] = object{
		"completed": spelt(c.Retention.Completed), "failures": spelt(c.Retention.Failures), "dead": spelt(c.Retention.Dead),
		"drop_pending": c.Retention.DropPending, "events": spelt(c.Retention.Events), "batches": spelt(c.Retention.Batches),
	}
	all["server"] = writtenServer(&c.Server)
	crons := object{}
	for name, s := range c.Cron {
		payload := any(json.RawMessage(s.Payload))
		if c.Kinds[s.Kind].Payload == config.PayloadText {
			payload = string(s.Payload)
		}
		o := object{
			"schedule": s.Expression, "timezone": s.Timezone, "kind": s.Kind, "payload": payload, "queue": s.Queue,
			"priority": s.Priority, "attrs": s.Attrs,
		}
		if s.Catch > 0 {
			o["catch"] = s.Catch.String()
		}
		crons[name] = o
	}
	all["cron"] = crons
	if c.Policy != "" {
		all["policy"] = c.Policy
	}
	if dsn := c.Postgres.DSN.Reveal(); dsn != "" {
		all["database"] = dsn
	}
	return all
}

func writtenServer(s *config.Server) object {
	trusted := []string{}
	for _, p := range s.Proxy.Trusted {
		trusted = append(trusted, p.String())
	}
	roles := object{}
	for group, role := range s.Proxy.Roles {
		roles[group] = role.String()
	}
	doors := object{}
	for name, d := range s.Doors {
		doors[name] = object{"path": d.Path, "kind": d.Kind, "words": d.Words}
	}
	o := object{
		"listen": s.Listen, "socket_mode": fmt.Sprintf("%04o", s.SocketMode), "auth": string(s.Auth), "hosts": s.Hosts,
		"proxy": object{"trusted": trusted, "user": s.Proxy.User, "groups": s.Proxy.Groups, "roles": roles},
		"doors": doors,
	}
	if s.TLS.Cert != "" {
		o["tls"] = object{"cert": s.TLS.Cert, "key": s.TLS.Key}
	}
	return o
}

func genServer(t *rapid.T) config.Server {
	header := rapid.StringMatching(`[A-Za-z0-9-]{1,20}`)
	host := rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,20}|10\.[0-9]\.0\.[1-9]|::[1-9]`)
	network := rapid.Custom(func(t *rapid.T) netip.Prefix {
		text := rapid.StringMatching(`10\.[1-9]\.0\.0/1[6-9]|fd0[1-9]::/1[6-9]|192\.0\.2\.[0-9]/32`).Draw(t, "network")
		return netip.MustParsePrefix(text).Masked()
	})
	role := rapid.SampledFrom([]access.Roles{access.Submit, access.Work, access.View, access.Operate, access.Administer})
	s := config.Server{
		Listen: rapid.SampledFrom([]string{"127.0.0.1:0", "[::1]:443", ":65535", "unix:/run/redrive.sock"}).Draw(t, "listen"), SocketMode: 0o660,
		Auth:  rapid.SampledFrom([]access.Mode{access.Auto, access.Open, access.ByKeys, access.ByProxy}).Draw(t, "auth"),
		Hosts: rapid.SliceOfDistinct(host, rapid.ID).Draw(t, "hosts"),
		Proxy: access.Proxy{
			Trusted: rapid.SliceOfNDistinct(network, 1, 5, rapid.ID).Draw(t, "trusted"),
			User:    header.Draw(t, "user"), Groups: header.Draw(t, "groups"),
			Roles: rapid.MapOfN(rapid.StringMatching(`[a-zA-Zä*:/]{1,9}`), role, 1, 5).Draw(t, "roles"),
		},
	}
	s.SocketMode = rapid.SampledFrom([]os.FileMode{0o600, 0o660, 0o666, 0o777}).Draw(t, "mode")
	if !strings.HasPrefix(s.Listen, config.SocketPrefix) && rapid.Bool().Draw(t, "has a certificate") {
		s.TLS = config.TLS{Cert: "/srv/app/server.crt", Key: "/srv/app/server.key"}
	}
	return s
}

func optional(o object, limit int, rate config.Rate) object {
	if limit > 0 {
		o["limit"] = limit
	}
	if rate.N > 0 {
		unit := map[time.Duration]string{time.Second: "s", time.Minute: "m", time.Hour: "h"}[rate.Per]
		o["rate"] = fmt.Sprintf("%d/%s", rate.N, unit)
	}
	return o
}

func genConfig(t *rapid.T) *config.Config {
	span := func(lowest, highest time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(lowest), int64(highest)).Draw(t, "duration"))
	}
	number := func(lowest, highest int) int { return rapid.IntRange(lowest, highest).Draw(t, "number") }
	rate := func() config.Rate {
		if rapid.Bool().Draw(t, "unlimited") {
			return config.Rate{}
		}
		per := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "per")
		return config.Rate{N: number(1, 1_000_000), Per: per}
	}
	text := rapid.StringOf(rapid.RuneFrom([]rune("\n\t\r\x01\"'\\:#,[]{}&*!|>%@`~-? "), unicode.PrintRanges...))
	name := rapid.StringMatching(`[a-z0-9][a-z0-9_.-]{0,63}`)
	variable := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,9}`)
	path := rapid.StringMatching(`/srv/[a-zäß ]{1,9}x`)

	c := &config.Config{
		Dir: "/srv/app", Database: path.Draw(t, "database"), TempDir: path.Draw(t, "temp"),
		Development: rapid.Bool().Draw(t, "development"),
		KeepRaw:     rapid.Bool().Draw(t, "keep_raw"), KeepPaths: rapid.Bool().Draw(t, "keep_paths"), KeepAddresses: rapid.Bool().Draw(t, "keep_addresses"), HideEmails: rapid.Bool().Draw(t, "hide_emails"),
		Lease: span(3*time.Second, time.Hour), RescueInterval: span(time.Second, 10*time.Minute),
		ShutdownGrace: span(0, time.Hour), MaxAttempts: number(1, 1000),
		Policy: rapid.SampledFrom([]string{"", "preset:default", "/srv/app/policy.yaml"}).Draw(t, "policy"),
		Log: config.Log{
			Level:  rapid.SampledFrom([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}).Draw(t, "level"),
			Format: rapid.SampledFrom([]string{config.LogText, config.LogJSON}).Draw(t, "format"),
		},
		Limits: config.Limits{PayloadBytes: number(1, 16<<20)},
		Postgres: config.Postgres{
			Schema:   rapid.StringMatching(`[a-oq-z_][a-z0-9_]{0,47}`).Draw(t, "schema"),
			MaxConns: number(5, 1_000), StatementTimeout: span(100*time.Millisecond, time.Hour),
			PgBouncer: rapid.Bool().Draw(t, "pgbouncer"),
		},
		Queues: map[string]config.Queue{}, Kinds: map[string]config.Kind{},
	}
	if rapid.Bool().Draw(t, "on PostgreSQL") {
		c.Database = ""
		c.Postgres.DSN = config.NewSecret(rapid.SampledFrom([]string{
			"postgres://ann:pa%40ss@db:5432/app?sslmode=verify-full", "postgresql://db/app", "host=/run/pg dbname=app password='a b'",
		}).Draw(t, "dsn"))
	}
	for _, q := range rapid.SliceOfN(name, 1, 3).Draw(t, "queues") {
		c.Queues[q] = config.Queue{Workers: number(1, 5_000), Limit: number(0, 1_000_000), Rate: rate()}
	}
	c.QueueNames = slices.Sorted(maps.Keys(c.Queues))
	for _, k := range rapid.SliceOfN(name, 0, 3).Draw(t, "kinds") {
		var retry *config.Retry
		if rapid.Bool().Draw(t, "own retries") {
			retry = &config.Retry{MaxRetries: number(0, c.MaxAttempts-1)}
			for range number(1, 5) {
				retry.Waits = append(retry.Waits, span(0, 720*time.Hour))
			}
		}
		c.Kinds[k] = config.Kind{
			Command: append([]string{"run"}, rapid.SliceOf(text).Draw(t, "arguments")...),
			Queue:   rapid.SampledFrom(c.QueueNames).Draw(t, "queue"),
			Timeout: span(time.Second, 168*time.Hour), KillGrace: span(0, 10*time.Minute),
			Priority: number(1, 4), Workers: number(0, 5_000), Limit: number(0, 1_000_000), Rate: rate(),
			MaxCrashes: number(1, 5),
			Env:        rapid.SliceOfDistinct(variable, rapid.ID).Draw(t, "env"),
			SetEnv:     rapid.MapOf(variable, text).Draw(t, "set_env"),
			Dir:        path.Draw(t, "dir"),
			Output:     path.Draw(t, "output"),
			Owner: config.Owner{
				Retry: true, MaxRetries: rapid.IntRange(1, 1000).Draw(t, "owner's retries"), Change: []string{"/quality"},
				Cancel: rapid.Bool().Draw(t, "cancel"), Feedback: rapid.Bool().Draw(t, "feedback"),
			},
			Encoding:           rapid.SampledFrom([]string{"utf-8", "shift_jis", "IBM850"}).Draw(t, "encoding"),
			Payload:            rapid.SampledFrom([]string{config.PayloadJSON, config.PayloadText}).Draw(t, "payload"),
			PermanentExitCodes: rapid.SliceOfDistinct(rapid.IntRange(1, 255), rapid.ID).Draw(t, "codes"),
			Retry:              retry,
		}
		if kind := c.Kinds[k]; kind.Payload == config.PayloadJSON && rapid.Bool().Draw(t, "has schema") {
			kind.Schema = path.Draw(t, "schema")
			c.Kinds[k] = kind
		}
	}
	kept := func() time.Duration {
		if rapid.Bool().Draw(t, "forever") {
			return config.Forever
		}
		return span(time.Minute, 3650*24*time.Hour)
	}
	c.Retention = config.Retention{
		Completed: kept(), Failures: kept(), Dead: kept(), Events: kept(), Batches: kept(), DropPending: rapid.Bool().Draw(t, "drop_pending"),
	}
	c.Server = genServer(t)
	for k, kind := range c.Kinds {
		if kind.Payload == config.PayloadJSON && rapid.Bool().Draw(t, "has a door") {
			words := rapid.SampledFrom([]string{config.WordsOfPolicy, "render", "watermark"}).Draw(t, "words")
			if c.Server.Doors == nil {
				c.Server.Doors = map[string]config.Door{}
			}
			c.Server.Doors[k] = config.Door{Path: "/x/" + k, Kind: k, Words: words}
		}
	}
	if len(c.Kinds) > 0 {
		c.KindNames = slices.Sorted(maps.Keys(c.Kinds))
		for _, s := range rapid.SliceOfN(name, 0, 3).Draw(t, "schedules") {
			if c.Cron == nil {
				c.Cron = map[string]config.Cron{}
			}
			cron := config.Cron{
				Expression: rapid.SampledFrom([]string{"*/5 * * * *", "0 3 1,15 * MON", "@daily", "@every 2h"}).Draw(t, "schedule"),
				Timezone:   rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Asia/Tokyo"}).Draw(t, "zone"),
				Kind:       rapid.SampledFrom(c.KindNames).Draw(t, "kind"), Queue: rapid.SampledFrom(c.QueueNames).Draw(t, "queue"),
				Priority: number(1, 4), Attrs: map[string]any{"n": json.Number("7")},
			}
			cron.Payload = []byte(`{"a":[1,"x"]}`)
			if c.Limits.PayloadBytes < len(cron.Payload) {
				continue
			}
			if rapid.Bool().Draw(t, "caught") {
				cron.Catch = span(time.Second, 720*time.Hour)
			}
			c.Cron[s] = cron
		}
		if len(c.Cron) == 0 {
			c.Cron = nil
		} else {
			c.CronNames = slices.Sorted(maps.Keys(c.Cron))
		}
	}
	return c
}

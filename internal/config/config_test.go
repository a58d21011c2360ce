package config_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/server/access"
)

// mustParse parses text as the file redrive.yaml in the folder /srv/app.
func mustParse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("redrive.yaml", []byte(text), "/srv/app")
	if err != nil {
		t.Fatalf("parsing redrive.yaml failed:\n%v", err)
	}
	return c
}

// plainKind returns a kind with a command and default values for all other settings.
func checkedKind(command ...string) config.Kind {
	k := plainKind(command...)
	k.Schema = "/srv/app/schemas/plain.json"
	return k
}

func plainKind(command ...string) config.Kind {
	return config.Kind{
		Command:   command,
		Queue:     "default",
		KillGrace: 5 * time.Second,
		Priority:  2,
		Env:       []string{"PATH"},
		Dir:       "/srv/app",
		Payload:   config.PayloadJSON,
		Owner:     config.Owner{Feedback: true},
	}
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); d != "" {
		t.Errorf("the values differ (-want +got):\n%s", d)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Dir:            "/srv/app",
		Database:       "/srv/app/data/jobs.db",
		Postgres:       config.Postgres{Schema: "jobs", MaxConns: 30, StatementTimeout: 5 * time.Second, PgBouncer: true},
		TempDir:        "/var/tmp/redrive",
		Development:    true,
		KeepRaw:        true,
		KeepPaths:      false,
		KeepAddresses:  false,
		HideEmails:     true,
		Lease:          20 * time.Second,
		RescueInterval: time.Minute,
		ShutdownGrace:  time.Hour,
		MaxAttempts:    50,
		Policy:         "/srv/app/data/policy.yaml",
		Log:            config.Log{Level: slog.LevelWarn, Format: config.LogJSON},
		Limits:         config.Limits{PayloadBytes: 1 << 20},
		Queues: map[string]config.Queue{
			"default": {Workers: 10},
			"mail":    {Workers: 2, Limit: 16, Rate: config.Rate{N: 600, Per: time.Hour}},
		},
		QueueNames: []string{"default", "mail"},
		Server: config.Server{
			Listen: "[::1]:8443", SocketMode: 0o600, TLS: config.TLS{Cert: "/srv/app/tls/server.crt", Key: "/etc/tls/server.key"},
			Auth: access.ByProxy, Hosts: []string{"jobs.example.org", "10.0.0.7", "::1"},
			Proxy: access.Proxy{
				Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("fd00::/8")},
				User:    "Remote-User", Groups: "Remote-Groups", Roles: map[string]access.Roles{"sre": access.Administer, "*": access.View},
			},
		},
		Kinds: map[string]config.Kind{
			"thumbnail": {
				Command:            []string{"/srv/app/bin/thumb", "--size", "256"},
				Queue:              "mail",
				Timeout:            30 * time.Second,
				KillGrace:          90 * time.Second,
				Priority:           1,
				Workers:            3,
				Limit:              8,
				Rate:               config.Rate{N: 5, Per: time.Second},
				MaxCrashes:         2,
				Env:                []string{"PATH", "HOME"},
				SetEnv:             map[string]string{"LANG": "C", "EMPTY": ""},
				Dir:                "/srv/app/work",
				Payload:            config.PayloadText,
				Encoding:           "windows-1252",
				Output:             "$TMPDIR/out.png",
				KeepPayload:        true,
				Owner:              config.Owner{Retry: true, MaxRetries: 3, Change: []string{"/quality", "/options/size"}, Cancel: true},
				PermanentExitCodes: []int{65, 66},
				Retry: &config.Retry{
					MaxRetries: 5,
					Waits:      []time.Duration{time.Second, 10 * time.Second, time.Minute},
				},
			},
			"a.plain_kind-2": checkedKind("sh", "-c", "echo \"$1\"\n\texit 0\n"),
		},
		KindNames: []string{"thumbnail", "a.plain_kind-2"},
		Retention: config.Retention{
			Completed: 12 * time.Hour, Failures: 36 * time.Hour, Dead: config.Forever, DropPending: true, Events: 365 * 24 * time.Hour,
			Batches: 90 * 24 * time.Hour,
		},
		Cron: map[string]config.Cron{
			"nightly": {
				Expression: "30 2 * * MON-FRI", Timezone: "Europe/Berlin", Catch: 10 * time.Minute, Kind: "thumbnail",
				Payload: []byte("all of them\n"), Queue: "default", Priority: 3, Owner: "ops", Correlation: "night",
				Attrs: map[string]any{"customer": "acme", "minutes": json.Number("90")},
			},
			"often": {
				Expression: "@every 90s", Timezone: "UTC", Kind: "a.plain_kind-2", Queue: "default", Priority: 2,
				Payload: []byte(`{"list":[1,-0.5,true,null,"x",{}],"z":"ä"}`),
			},
			"plain": {Expression: "0 0 * * *", Timezone: "UTC", Kind: "a.plain_kind-2", Queue: "default", Priority: 2, Payload: []byte("{}")},
		},
		CronNames: []string{"nightly", "often", "plain"},
	}
	diff(t, want, mustParse(t, string(text)))
}

func TestOmittedSettingsHaveDefaults(t *testing.T) {
	t.Parallel()
	want := config.Default()
	want.Dir = "/srv/app"
	want.Database = "/srv/app/jobs.db"
	want.Kinds = map[string]config.Kind{"greet": plainKind("echo", "hello")}
	want.KindNames = []string{"greet"}
	for name, text := range map[string]string{
		"absent":   "kinds: {greet: {command: [echo, hello]}}",
		"empty":    "log: {}\nlimits: {}\nqueues: {}\nkinds: {greet: {command: [echo, hello], set_env: , retry: {}}}",
		"no value": "log:\nlimits:\npostgres:\nqueues:\nkinds:\n  greet:\n    command: [echo, hello]\n    retry:\n",
		"default":  "queues:\n  default:\nkinds: {greet: {command: [echo, hello]}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diff(t, want, mustParse(t, text))
		})
	}
}

func TestDefault(t *testing.T) {
	t.Parallel()
	want := &config.Config{
		Database:       "jobs.db",
		Postgres:       config.Postgres{Schema: "redrive", MaxConns: 20, StatementTimeout: 10 * time.Second},
		TempDir:        "", // empty, because redrive.Config has a default for each user
		Lease:          10 * time.Second,
		RescueInterval: 30 * time.Second,
		ShutdownGrace:  30 * time.Second,
		MaxAttempts:    100,
		KeepPaths:      true,
		KeepAddresses:  true,
		Log:            config.Log{Level: slog.LevelInfo, Format: "text"},
		Limits:         config.Limits{PayloadBytes: 256 * 1024},
		Queues:         map[string]config.Queue{"default": {Workers: 10}},
		QueueNames:     []string{"default"},
		Kinds:          map[string]config.Kind{},
		Retention: config.Retention{
			Completed: 24 * time.Hour, Failures: 7 * 24 * time.Hour, Dead: 30 * 24 * time.Hour, Events: 7 * 24 * time.Hour, Batches: 30 * 24 * time.Hour,
		},
		Server: config.Server{Listen: "127.0.0.1:8080", SocketMode: 0o660, Auth: "auto", Proxy: access.Proxy{User: "X-Forwarded-User", Groups: "X-Forwarded-Groups"}},
	}
	diff(t, want, config.Default())
	config.Default().Queues["default"] = config.Queue{}
	diff(t, want, config.Default()) // two calls of Default must not share any data
}

func TestProgramsArePathsOnlyWithASlash(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"thumb": "thumb", "./thumb": "/srv/app/thumb", "bin/thumb": "/srv/app/bin/thumb",
		"../thumb": "/srv/thumb", "/usr/bin/thumb": "/usr/bin/thumb",
	} {
		c := mustParse(t, "kinds: {a: {command: ["+program+", ./x]}}")
		diff(t, []string{want, "./x"}, c.Kinds["a"].Command)
	}
}

func TestRetryForms(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		retry string
		want  config.Retry
	}{
		{"{max_retries: 0}", config.Retry{MaxRetries: 0, Waits: []time.Duration{30 * s}}},
		{"{max_retries: 7}", config.Retry{MaxRetries: 7, Waits: []time.Duration{30 * s}}},
		{"{max_attempts: 1}", config.Retry{MaxRetries: 0, Waits: []time.Duration{30 * s}}},
		{"{waits: [1s, 2s]}", config.Retry{MaxRetries: 2, Waits: []time.Duration{s, 2 * s}}},
		{"{waits: [1s, 2s], max_retries: 1}", config.Retry{MaxRetries: 1, Waits: []time.Duration{s, 2 * s}}},
		{"{waits: [0s], max_attempts: 6}", config.Retry{MaxRetries: 5, Waits: []time.Duration{0}}},
		{"{max_retries: 4, max_attempts: 5}", config.Retry{MaxRetries: 4, Waits: []time.Duration{30 * s}}},
	} {
		t.Run(tt.retry, func(t *testing.T) {
			t.Parallel()
			diff(t, &tt.want, mustParse(t, "kinds: {a: {command: [x], retry: "+tt.retry+"}}").Kinds["a"].Retry)
		})
	}
}

func TestWithoutARetrySectionThePolicyDecides(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", ", retry: {}", ", retry: ", ", retry: null", ", permanent_exit_codes: [65]"} {
		if got := mustParse(t, "kinds: {a: {command: [x]"+text+"}}").Kinds["a"].Retry; got != nil {
			t.Errorf("%q gives the retry section %+v, want nil", text, *got)
		}
	}
}

func TestPolicyIsAPathOrAPreset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		"policy: policy.yaml":    "/srv/app/policy.yaml",
		"policy: ../p/x.yaml":    "/srv/p/x.yaml",
		"policy: /etc/x.yaml":    "/etc/x.yaml",
		"policy: preset:default": "preset:default",
		"policy: preset:chat":    "preset:chat",
	} {
		c := mustParse(t, "kinds: {}\n"+text)
		diff(t, want, c.Policy)
		name, ok := c.Preset()
		if wantOK := strings.HasPrefix(want, "preset:"); ok != wantOK || ok && name != want[len("preset:"):] {
			t.Errorf("Preset of the policy %q: got the name %q and ok %v, want ok %v and the name after the prefix", want, name, ok, wantOK)
		}
	}
}

func TestAliasesAndMergeKeys(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
kinds:
  first: &first
    command: [x]
    timeout: &short 9s
    kill_grace: 1s
  second:
    <<: *first
    kill_grace: 2s
  third: {<<: [{timeout: 8s}, *first], kill_grace: *short}
`)
	first := plainKind("x")
	first.Timeout, first.KillGrace = 9*time.Second, time.Second
	second, third := first, first
	second.KillGrace = 2 * time.Second
	third.Timeout, third.KillGrace = 8*time.Second, 9*time.Second
	diff(t, map[string]config.Kind{"first": first, "second": second, "third": third}, c.Kinds)
}

func TestOwnKeysOfAMappingOverrideMergedKeys(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
kinds:
  a: {command: [x], set_env: &env {LANG: C, TZ: UTC}}
  b: {command: [x], set_env: {LANG: de, <<: *env}}
`)
	diff(t, map[string]string{"LANG": "de", "TZ": "UTC"}, c.Kinds["b"].SetEnv)
}

func TestWindowsFilesAreRead(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "\ufeffdatabase: 'ä.db'\r\nlease: 20s\t# a tab before a comment\r\n")
	diff(t, "/srv/app/ä.db", c.Database)
	diff(t, 20*time.Second, c.Lease)
}

func TestLoadStartsRelativePathsAtTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "redrive.yaml")
	if err := os.WriteFile(path, []byte("database: x.db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, filepath.Join(dir, "x.db"), c.Database)
	diff(t, dir, c.Dir)
}

func TestLoadOfAMissingFile(t *testing.T) {
	t.Parallel()
	_, err := config.Load(filepath.Join(t.TempDir(), "redrive.yaml"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("loading a missing file: got the error %v, want fs.ErrNotExist", err)
	}
	if _, ok := errors.AsType[config.Problems](err); ok {
		t.Errorf("a missing file is reported as Problems: %v; want another error", err)
	}
}

package stream_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/stream"
	"github.com/redrive/redrive/stream/kafka"
)

// said returns what a start of the stream says, in one text.
func said(t *testing.T, c *stream.Config) string {
	t.Helper()
	s := memory.New(memory.Options{})
	c.Store = s
	client, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = stream.Run(ctx, client, c)
	if refused, ok := errors.AsType[*kafka.Refused](err); !ok {
		t.Fatalf("got %v, want a refusal", err)
	} else if len(refused.Findings) == 0 {
		t.Fatal("a refusal without a reason")
	}
	return err.Error()
}

// give gives a user a right.
func give(t *testing.T, admin *kadm.Client, user string, build func(*kadm.ACLBuilder) *kadm.ACLBuilder, rights ...kmsg.ACLOperation) {
	t.Helper()
	b := build(kadm.NewACLs().Allow("User:" + user).AllowHosts("*").ResourcePatternType(kadm.ACLPatternLiteral)).Operations(rights...)
	if _, err := admin.CreateACLs(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// A stream starts with TLS and a login, and refuses to start with every reason at once, each with
// its cure: one of two users has no right to write the retry topic.
//
// part of: S4
func TestS4_KafkaTrap24_TheStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	k := private(t)
	admin := topic(t, k.Address(), "secure_tasks", 3)
	none := "delete"
	compacted, short := "compact", "3600000"
	if _, err := admin.CreateTopic(t.Context(), 3, 1, map[string]*string{"cleanup.policy": &none, "retention.ms": &short}, "secure_retry"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": &compacted}, "profiles"); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"writer", "reader"} {
		give(t, admin, user, func(b *kadm.ACLBuilder) *kadm.ACLBuilder {
			return b.Topics("secure_tasks", "secure_retry", "profiles")
		},
			kmsg.ACLOperationRead, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs)
		give(t, admin, user, func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Groups("redrive-secure") }, kmsg.ACLOperationRead)
	}
	give(t, admin, "writer", func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Topics("secure_retry") }, kmsg.ACLOperationWrite)
	address, ca := k.Secure()
	dir := t.TempDir()
	password := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	user := func(name, mechanism string) *stream.Config {
		return &stream.Config{Name: "secure", Brokers: []string{address}, Topic: "secure_tasks", Retry: "secure_retry", Kinds: map[string]string{"chat": "chat"},
			TLS: &kafka.TLS{CAFile: ca}, SASL: &kafka.SASL{Mechanism: mechanism, User: name, PasswordFile: password(name, "pw-"+name+"-canary")}, Log: slog.New(slog.DiscardHandler)}
	}
	long := map[string]*string{"retention.ms": new("604800000")}
	for name, c := range map[string]struct {
		change func(c *stream.Config)
		want   []string
	}{
		"no certificate":   {func(c *stream.Config) { c.TLS.CAFile = "" }, []string{"no broker can be reached: " + address, "certificate", "ca_file must have"}},
		"no broker":        {func(c *stream.Config) { c.Brokers = []string{"127.0.0.1:1"} }, []string{"127.0.0.1:1", "refused"}},
		"wrong password":   {func(c *stream.Config) { c.SASL.PasswordFile = password("wrong", "wrong-canary") }, []string{"the login failed", "correct sasl"}},
		"wrong mechanism":  {func(c *stream.Config) { c.SASL.Mechanism = "scram-sha-256" }, []string{"the login failed", "scram-sha-256 as writer"}},
		"unknown one":      {func(c *stream.Config) { c.SASL.Mechanism = "gssapi" }, []string{`the mechanism "gssapi" is not known`}},
		"no file":          {func(c *stream.Config) { c.SASL.PasswordFile = "" }, []string{"password_file is missing"}},
		"no login":         {func(c *stream.Config) { c.SASL = nil }, []string{"set tls and sasl"}},
		"no group":         {func(c *stream.Config) { c.Group = "other" }, []string{`has no right to read as a member of the group "other"`, "the right Read on the group"}},
		"no topic":         {func(c *stream.Config) { c.Topic, c.Retry = "nowhere", "" }, []string{`"nowhere"`}},
		"two at once":      {func(c *stream.Config) { c.Topic = "profiles"; c.Group = "other" }, []string{"3 mistakes", "is compacted", `the group "other"`, "retention"}},
		"login in clear":   {func(c *stream.Config) { c.TLS = nil; c.Brokers = []string{"kafka.example:9092"} }, []string{"sasl without tls"}},
		"half certificate": {func(c *stream.Config) { c.TLS.CertFile = "x" }, []string{"cert_file and key_file belong together"}},
	} {
		config := user("writer", "scram-sha-512")
		c.change(config)
		got := said(t, config)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: said %q, want %q in it", name, got, want)
			}
		}
		if strings.Contains(got, "canary") {
			t.Errorf("%s: a password is in %q", name, got)
		}
	}
	if _, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: long["retention.ms"]}}, "secure_retry"); err != nil {
		t.Fatal(err)
	}
	got := said(t, user("reader", "plain"))
	if want := `this user must not write the retry topic "secure_retry"; give this user the right Write on the topic "secure_retry" (an ACL)`; !strings.HasSuffix(got, want) {
		t.Errorf("said %q, want %q at its end and nothing else", got, want)
	}

	s := memory.New(memory.Options{})
	client, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	writer := user("writer", "scram-sha-512")
	writer.Store = s
	go func() { ended <- stream.Run(ctx, client, writer) }()
	produce(t, k.Address(), "secure_tasks", []string{`{"job_id":"a","task_type":"chat"}`})
	eventually(t, "the record is a job", func() bool {
		n, err := client.Counts(t.Context())
		return err == nil && len(n) > 0 && n[0].State == job.Waiting
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A token is read from its file at each login, so another program can renew it; one that is over is refused, and is in no message.
//
// part of: S4
func TestS4_LoginWithAToken(t *testing.T) {
	t.Parallel()
	k := private(t)
	admin := topic(t, k.Address(), "token_tasks", 1)
	give(t, admin, "tokens", func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Topics("token_tasks").Groups("redrive-token") }, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	address, ca := k.Secure()
	file := filepath.Join(t.TempDir(), "token")
	write := func(ends time.Time) string {
		t.Helper()
		part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
		token := part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"sub":"tokens","iat":%d,"exp":%d}`, ends.Add(-time.Hour).Unix(), ends.Unix())) + "."
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return token
	}
	config := func() *stream.Config {
		return &stream.Config{Name: "token", Brokers: []string{address}, Topic: "token_tasks", Kinds: map[string]string{"chat": "chat"},
			TLS: &kafka.TLS{CAFile: ca}, SASL: &kafka.SASL{Mechanism: "oauthbearer", TokenFile: file}, Log: slog.New(slog.DiscardHandler)}
	}
	over := write(time.Now().Add(-time.Minute))
	if got := said(t, config()); !strings.Contains(got, "the login failed") || strings.Contains(got, over) {
		t.Errorf("with a token that is over: said %q, want that the login failed, and not the token", got)
	}
	write(time.Now().Add(time.Hour))
	s := memory.New(memory.Options{})
	client, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stream.Run(ctx, client, config()) }()
	produce(t, k.Address(), "token_tasks", []string{`{"job_id":"a","task_type":"chat"}`})
	eventually(t, "the record is a job", func() bool {
		n, err := client.Counts(t.Context())
		return err == nil && len(n) > 0 && n[0].State == job.Waiting
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Of two processes with one instance name the older one ends, and says which name it is.
//
// part of: S4
func TestS4_KafkaTrap26_OneInstanceNameIsOneProcess(t *testing.T) {
	t.Parallel()
	address := broker(t)
	topic(t, address, "named_tasks", 3)
	client, err := redrive.New(memory.New(memory.Options{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	start := func(ctx context.Context) chan error {
		ended := make(chan error, 1)
		go func() {
			ended <- stream.Run(ctx, client, &stream.Config{Name: "named", Brokers: []string{address}, Topic: "named_tasks", Instance: "pod-1",
				Kinds: map[string]string{"chat": "chat"}, Log: slog.New(slog.DiscardHandler)})
		}()
		return ended
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := func(n int64) func() bool {
		return func() bool {
			c, err := client.Counts(t.Context())
			return err == nil && len(c) > 0 && c[0].N == n
		}
	}
	older := start(ctx)
	produce(t, address, "named_tasks", []string{`{"job_id":"a","task_type":"chat"}`})
	eventually(t, "the first process reads", waiting(1))
	younger := start(ctx)
	waits, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	select {
	case err := <-older:
		if err == nil || !strings.Contains(err.Error(), `"pod-1"`) {
			t.Errorf("the older one ended with %v, want its instance name", err)
		}
	case <-waits.Done():
		t.Fatal("the older process still runs")
	}
	produce(t, address, "named_tasks", []string{`{"job_id":"b","task_type":"chat"}`})
	eventually(t, "the second process reads", waiting(2))
	cancel()
	if err := <-younger; err != nil {
		t.Error(err)
	}
}

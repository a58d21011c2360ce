package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/config"
)

// A preset names topics, the file replaces them, and variables replace both. The source of each value
// is known.
//
// part of: S5
func TestS5_VariablesReplaceTheFileAndThePreset(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("redrive.yaml", []byte(`streams: {chat: {preset: chat, brokers: ["localhost:9092"], retry: later}}`), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := c.Streams["chat"]
	env := map[string]string{"KAFKA_TOPIC_PRIMARY": "tasks"}
	lookup := func(name string) (string, bool) { text, ok := env[name]; return text, ok }
	if err := s.FromEnvironment(lookup); err != nil {
		t.Fatal(err)
	}
	if got := []string{s.Brokers[0], s.Topic, s.Retry, s.Group}; !cmp.Equal(got, []string{"localhost:9092", "tasks", "later", "redrive-chat"}) {
		t.Errorf("brokers, topic, retry and group are %q", got)
	}
	want := map[string]string{"brokers": "file", "topic": "KAFKA_TOPIC_PRIMARY", "retry": "file"}
	if diff := cmp.Diff(want, s.Sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	env["KAFKA_TOPIC_RETRY"], env["KAFKA_BOOTSTRAP_SERVERS"] = "", "nowhere"
	err = s.FromEnvironment(lookup)
	if err == nil || !strings.Contains(err.Error(), `KAFKA_TOPIC_RETRY is ""`) || !strings.Contains(err.Error(), `KAFKA_BOOTSTRAP_SERVERS has "nowhere"`) {
		t.Errorf("wrong variables give %v, want an error that names both", err)
	}
}

// Variables set the retries of the stream's kinds, over those of the file, and how long dead letters are kept. Anything but a
// plain decimal number in its bounds is an error that names the variable.
//
// part of: S5
func TestS5_VariablesSetRetriesAndRetention(t *testing.T) {
	t.Parallel()
	file := []byte(`{kinds: {chat: {command: [x], retry: {waits: [1s]}}, mail: {command: [x], queue: other}}, queues: {default: {}, other: {}},
  streams: {chat: {preset: chat, kinds: {chat_completion: chat}}}}`)
	with := func(env map[string]string) (*config.Config, error) {
		c, err := config.Parse("redrive.yaml", file, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return c, c.FromEnvironment(func(name string) (string, bool) { text, ok := env[name]; return text, ok })
	}
	c, err := with(map[string]string{"RETRY_MAX_ATTEMPTS": "7", "RETRY_BASE_DELAY_SECONDS": "0.5", "RETRY_EXPONENTIAL_BASE": "3", "DLQ_RETENTION_DAYS": "14"})
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Retry{MaxRetries: 7, Formula: &config.RetryFormula{First: 1500 * time.Millisecond, Factor: 3, Cap: 5 * time.Minute, Spread: time.Second}}
	if diff := cmp.Diff(want, c.Kinds["chat"].Retry); diff != "" {
		t.Errorf("retries of the kind (-want +got):\n%s", diff)
	}
	if c.Kinds["mail"].Retry != nil || c.Retention.Dead != 14*24*time.Hour {
		t.Errorf("the kind of another queue has %v, and dead letters are kept for %v; want none and 14 days", c.Kinds["mail"].Retry, c.Retention.Dead)
	}
	if s := c.Streams["chat"].Sources; s["retries"] != "RETRY_MAX_ATTEMPTS" || s["retry_cap"] != "preset" {
		t.Errorf("the sources are %v, want that of each value", s)
	}
	if c, err := with(nil); err != nil || len(c.Kinds["chat"].Retry.Waits) != 1 || c.Retention.Dead != 30*24*time.Hour {
		t.Errorf("without variables the kind has %v (%v), want what the file says", c.Kinds["chat"].Retry, err)
	}
	for _, name := range []string{"RETRY_MAX_ATTEMPTS", "RETRY_BASE_DELAY_SECONDS", "RETRY_EXPONENTIAL_BASE", "RETRY_MAX_DELAY_SECONDS", "RETRY_JITTER_MAX_SECONDS", "DLQ_RETENTION_DAYS"} {
		for _, text := range []string{"3abc", "", "-1", "1e9", " 5", "+5", "0x5", "5.", "NaN", "999999"} {
			if _, err := with(map[string]string{name: text}); err == nil || !strings.Contains(err.Error(), name+" is ") {
				t.Errorf("%s=%q gives %v, want an error that names it", name, text, err)
			}
		}
	}
	if _, err := with(map[string]string{"RETRY_MAX_ATTEMPTS": "5.5"}); err == nil || !strings.Contains(err.Error(), "whole number from 0 to 99") {
		t.Errorf("5.5 retries give %v, want the bound", err)
	}
}

// Variables name Redis, MongoDB and the collection of dead letters; no address is shown.
//
// part of: S5, S7
func TestS5_VariablesNameServers(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("redrive.yaml", []byte(`streams: {chat: {preset: chat}}`), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"REDIS_URL": "redis://:canary@r:6379", "MONGODB_URL": "mongodb://u:canary@m", "DLQ_COLLECTION": "dead"}
	lookup := func(name string) (string, bool) { text, ok := env[name]; return text, ok }
	s := c.Streams["chat"]
	if err := s.FromEnvironment(lookup); err != nil {
		t.Fatal(err)
	}
	if s.Marks.Redis.Reveal() != env["REDIS_URL"] || s.Marks.TTL != 24*time.Hour || s.Documents.MongoDB.Reveal() != env["MONGODB_URL"] || s.Documents.Dead != "dead" {
		t.Errorf("marks are %+v, documents %+v; want those of the variables", s.Marks, s.Documents)
	}
	if text := fmt.Sprintf("%+v %+v", *s.Marks, *s.Documents); strings.Contains(text, "canary") {
		t.Errorf("the settings print as %s, with a password", text)
	}
	for name, text := range map[string]string{"REDIS_URL": "canary", "MONGODB_URL": "http://canary", "DLQ_COLLECTION": "$x"} {
		env = map[string]string{name: text}
		if err := s.FromEnvironment(lookup); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s=%s gives %v, want an error that names it and does not show it", name, text, err)
		}
	}
}

// Each mistake of a stream is found with its place and its cure.
//
// part of: S5, X3
func TestX3_MistakesOfStreams(t *testing.T) {
	t.Parallel()
	const sasl = `streams: {a: {topic: t, brokers: ["kafka-1:9092"], sasl: %s}}`
	for in, want := range map[string]string{
		`streams: {a: {}}`:                                                                        "streams.a has no topic; name the topic that is read, or use preset: chat",
		`streams: {a: {topic: "a b"}}`:                                                            "the name of a topic: 1 to 249 letters",
		`streams: {a: {topic: ` + strings.Repeat("t", 250) + `}}`:                                 "the name of a topic: 1 to 249 letters",
		`streams: {a: {topic: t, brokers: [kafka]}}`:                                              "an address such as kafka-1:9092",
		`streams: {a: {topic: t, retry: t}}`:                                                      `uses the topic "t", which streams.a uses already`,
		`streams: {a: {topic: t}, b: {topic: t}}`:                                                 `streams.b uses the topic "t", which streams.a uses already`,
		`streams: {a: {topic: t, queue: other}}`:                                                  `is not defined under "queues"`,
		`streams: {a: {topic: t, backlog: 99}}`:                                                   "from 100 to 10000000",
		`streams: {a: {topic: t, min_wait: 61m}}`:                                                 "from 0s to 1h",
		`streams: {a: {topic: t, preset: chatt}}`:                                                 "chat",
		`streams: {a: {topic: t, group: ` + strings.Repeat("g", 256) + `}}`:                       "at most 255 are allowed",
		`{kinds: {k: {command: [x]}}, streams: {a: {topic: t, kinds: {x: kk}}}}`:                  `names the kind "kk", which is not defined`,
		strings.Replace(sasl, "%s", `{mechanism: plain}`, 1):                                      "needs user and password_file",
		strings.Replace(sasl, "%s", `{mechanism: plain, user: u, password_file: p}`, 1):           "add tls: {}, or insecure: true",
		strings.Replace(sasl, "%s", `{mechanism: oauthbearer}`, 1):                                "has no token_file",
		`streams: {a: {topic: t, tls: {cert_file: c}}}`:                                           "give both or none",
		`streams: {a: {topic: t, marks: {}}}`:                                                     "streams.a.marks has no redis",
		`streams: {a: {topic: t, marks: {redis: "redis://:secret@r:1"}}}`:                         "has a password; write it to a file",
		`streams: {a: {topic: t, marks: {redis: "http://r"}}}`:                                    "must be an address such as redis://redis-1:6379/0",
		`streams: {a: {topic: t, marks: {redis: "redis://r", ttl: 1s}}}`:                          "from 1m to 8760h",
		`streams: {a: {topic: t, documents: {database: d}}}`:                                      "streams.a.documents has no mongodb",
		`streams: {a: {topic: t, documents: {mongodb: "mongodb://m", dead: "a b"}}}`:              "a name of 1 to 120 letters",
		`streams: {a: {topic: t, documents: {mongodb: "mongodb://m", marks: dead_letter_queue}}}`: "each needs its own",
	} {
		problems := problemsOf(t, in)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) || problems[0].Line != 1 || problems[0].Col == 0 {
			t.Errorf("%s: got the problems %v, want one in line 1 with %q", clip(in), problems, want)
		}
	}
}

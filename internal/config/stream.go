package config

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
)

// Stream is a reader of a Kafka topic, for the program redrive-stream.
type Stream struct {
	// Brokers are the addresses that are asked first, as host:port. Without any, the environment has
	// them: see FromEnvironment.
	Brokers []string
	// Topic is the topic that is read. The preset chat has a default.
	Topic string
	// Retry is the topic of retries; "" means that waits are in the store alone. The preset chat has a
	// default.
	Retry string
	// MinWait is the shortest wait that has a record on the retry topic. Default 1s.
	MinWait time.Duration
	// Dead and Results are topics of dead letters and of results. Default "", which means none.
	Dead, Results string
	// Compat adds headers of "connect" or "spring" to dead letters. Default "".
	Compat string
	// Group is the consumer group. Default "redrive-" and the name of the stream.
	Group string
	// Instance makes a static member of the group. Default "".
	Instance string
	// Latest begins at the end of a topic that is read for the first time. Default false.
	Latest bool
	// Queue is a queue of the same Config. Default "default".
	Queue string
	// Kinds are kinds by task_type. Default: the kinds of the queue under their own names.
	Kinds map[string]string
	// Strict requires a UUID of version 4 as job_id. Default false.
	Strict bool
	// Backlog is the number of waiting jobs from which no records are read. Default 50,000.
	Backlog int
	// AllowCompacted and Alongside allow what the start refuses otherwise. Default false.
	AllowCompacted, Alongside bool
	// TLS is nil if connections are not encrypted, SASL if there is no login.
	TLS  *StreamTLS
	SASL *StreamSASL
	// Marks is nil without marks in Redis, Documents without documents in MongoDB.
	Marks     *StreamMarks
	Documents *StreamDocuments
	// Preset is the name of the preset of names and variables. Default "", which means none.
	Preset string
	// Numbers are the settings of variables with numbers, by the names in NumberNames, as they were written. Those of
	// retries are all there if one of them is set; without them the policy and the kinds decide.
	Numbers map[string]string
	// Sources says for brokers, topic, retry, marks, documents, documents.dead and Numbers where the value is from: "file", "preset", "default"
	// or the name of a variable.
	Sources map[string]string
}

// StreamTLS are the settings of encrypted connections. Paths are as the file has them, from its folder.
type StreamTLS struct{ CAFile, CertFile, KeyFile, ServerName string }

// StreamSASL are the settings of a login. Secrets are in files.
type StreamSASL struct {
	Mechanism, User         string
	PasswordFile, TokenFile string
	Insecure                bool // allows a login without TLS to other machines
}

// The limits of streams.
const (
	streamsMax             = 32
	brokersMax             = 100
	topicMax               = 249
	groupMax               = 255
	backlogMin, backlogMax = 100, 10_000_000
	minWaitMin, minWaitMax = time.Duration(0), time.Hour
)

// The sources of a setting that is not from a variable.
const (
	fromFile    = "file"
	fromPreset  = "preset"
	fromDefault = "default"
)

func (r *reader) streams(v value, c *Config) {
	topics := map[string]string{}
	r.Named(v, "a mapping such as {chat: {brokers: [kafka-1:9092], topic: tasks}}", "stream", func(name string, at position, v value) {
		if c.Streams == nil {
			c.Streams = map[string]Stream{}
		}
		if len(c.Streams) == streamsMax {
			r.Addf(at, "streams has more than %d streams; at most %d are allowed", streamsMax, streamsMax)
		}
		s := r.stream(v, at, name, c)
		for _, topic := range []string{s.Topic, s.Retry, s.Dead, s.Results} {
			if other, used := topics[topic]; used && topic != "" {
				r.Addf(at, "%s uses the topic %s, which %s uses already; each topic has one use", v.Path, yamlfile.Quote(topic), other)
			}
			topics[topic] = v.Path
		}
		c.Streams[name] = s
		c.StreamNames = append(c.StreamNames, name)
	})
}

func (r *reader) stream(v value, at position, name string, c *Config) Stream {
	s := Stream{Group: "redrive-" + name, MinWait: time.Second, Queue: defaultQueueName, Backlog: 50_000,
		Sources: map[string]string{"brokers": fromDefault, "topic": fromDefault, "retry": fromDefault}}
	if preset := v.Get("preset"); preset != nil { // first: the other settings replace its values
		yamlfile.Choice(r.Reader, &s.Preset, []string{"chat"}, []string{"chat"})(value{Node: preset, Path: yamlfile.Join(v.Path, "preset")})
	}
	if s.Preset != "" {
		s.Topic, s.Retry = "alice_tasks", "alice_retry_queue"
		s.Sources["topic"], s.Sources["retry"] = fromPreset, fromPreset
	}
	start := "earliest"
	r.Fields(v, "a mapping such as {brokers: [kafka-1:9092], topic: tasks}", []field{
		{"preset", func(value) {}},
		{"brokers", r.given(&s, "brokers", r.several(brokersMax, yamlfile.ListOf(r.Reader, &s.Brokers, "a list of addresses such as [kafka-1:9092]", r.broker)))},
		{"topic", r.given(&s, "topic", r.topic(&s.Topic, false))},
		{"retry", r.given(&s, "retry", r.topic(&s.Retry, true))},
		{"min_wait", r.Duration(&s.MinWait, minWaitMin, minWaitMax)},
		{"dead", r.topic(&s.Dead, true)},
		{"compat", yamlfile.Choice(r.Reader, &s.Compat, []string{"connect", "spring"}, []string{"connect", "spring"})},
		{"results", r.topic(&s.Results, true)},
		{"group", r.short(&s.Group, groupMax)},
		{"instance", r.short(&s.Instance, groupMax)},
		{"start", yamlfile.Choice(r.Reader, &start, []string{"earliest", "latest"}, []string{"earliest", "latest"})},
		{"queue", r.NonEmpty(&s.Queue)},
		{"kinds", r.streamKinds(&s)},
		{"strict", r.Boolean(&s.Strict)},
		{"backlog", r.Integer(&s.Backlog, backlogMin, backlogMax, "")},
		{"allow_compacted", r.Boolean(&s.AllowCompacted)},
		{"alongside", r.Boolean(&s.Alongside)},
		{"tls", r.streamTLS(&s)},
		{"sasl", r.streamSASL(&s)},
		{"marks", r.streamMarks(&s)},
		{"documents", r.streamDocuments(&s)},
	})
	s.Latest = start == "latest"
	if v.Shape != yamlfile.Mapping && v.Shape != yamlfile.Null {
		return s
	}
	if s.Topic == "" && v.Get("topic") == nil {
		r.Addf(at, "%s has no topic; name the topic that is read, or use preset: chat", v.Path)
	}
	if queue := v.Get("queue"); queue != nil && s.Queue != "" {
		r.checkQueue(queue.Pos, v.Path+".queue", s.Queue, c)
	}
	r.kindsTogether(v, &s, c)
	r.securedTogether(v, &s)
	return s
}

// given notes that the file has a setting.
func (r *reader) given(s *Stream, name string, read func(value)) func(value) {
	return func(v value) {
		s.Sources[name] = fromFile
		read(v)
	}
}

// broker reads an address as host:port.
func (r *reader) broker(into *string) func(value) {
	return func(v value) {
		if v.Shape != yamlfile.Text || !isBroker(v.Text) {
			r.Mismatch(v, "an address such as kafka-1:9092", "")
			return
		}
		*into = v.Text
	}
}

func isBroker(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && host != "" && port != "" && strings.Trim(port, "0123456789") == "" && len(port) <= 5
}

// topic reads the name of a topic; "none" means none where that is allowed.
func (r *reader) topic(into *string, optional bool) func(value) {
	return func(v value) {
		switch {
		case optional && v.Shape == yamlfile.Text && v.Text == "none":
			*into = ""
		case v.Shape != yamlfile.Text || !isTopic(v.Text):
			want := fmt.Sprintf("the name of a topic: 1 to %d letters, digits and ._-", topicMax)
			if optional {
				want += ", or none"
			}
			r.Mismatch(v, want, "")
		default:
			*into = v.Text
		}
	}
}

func isTopic(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= topicMax &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// short reads a text with a limit.
func (r *reader) short(into *string, most int) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Text && len(v.Text) > most {
			r.Addf(v.Pos, "%s has %d bytes; at most %d are allowed", v.Path, len(v.Text), most)
			return
		}
		r.NonEmpty(into)(v)
	}
}

func (r *reader) streamKinds(s *Stream) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.Mapping, "a mapping of task types to kinds such as {chat_completion: chat}") {
			return
		}
		s.Kinds = make(map[string]string, len(v.Entries))
		for _, e := range v.Entries {
			kind := ""
			r.NonEmpty(&kind)(value{Node: e.Value, Path: yamlfile.Join(v.Path, yamlfile.Quote(e.Key))})
			s.Kinds[e.Key] = kind
		}
	}
}

// kindsTogether reports kinds that are not defined, or are of another queue.
func (r *reader) kindsTogether(v value, s *Stream, c *Config) {
	at := v.Get("kinds")
	if at == nil {
		return
	}
	for _, e := range at.Entries {
		kind := s.Kinds[e.Key]
		switch k, ok := c.Kinds[kind]; {
		case kind == "" || len(c.Kinds) == 0: // kinds of programs in Go need not be in the file
		case !ok:
			r.Addf(e.Pos, "%s.kinds names the kind %s, which is not defined under \"kinds\"%s", v.Path, yamlfile.Quote(kind), suggest.DidYouMean(kind, c.KindNames))
		case k.Queue != s.Queue:
			r.Addf(e.Pos, "%s.kinds names the kind %s, whose queue is %s; the queue of the stream is %s. Use the same queue for the kind and the stream",
				v.Path, yamlfile.Quote(kind), yamlfile.Quote(k.Queue), yamlfile.Quote(s.Queue))
		}
	}
}

func (r *reader) streamTLS(s *Stream) func(value) {
	return func(v value) {
		s.TLS = &StreamTLS{}
		r.Fields(v, "a mapping such as {ca_file: ca.pem}, or {} for the certificates of the system", []field{
			{"ca_file", r.NonEmpty(&s.TLS.CAFile)}, {"cert_file", r.NonEmpty(&s.TLS.CertFile)},
			{"key_file", r.NonEmpty(&s.TLS.KeyFile)}, {"server_name", r.NonEmpty(&s.TLS.ServerName)},
		})
	}
}

func (r *reader) streamSASL(s *Stream) func(value) {
	mechanisms := []string{"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"}
	return func(v value) {
		s.SASL = &StreamSASL{}
		r.Fields(v, "a mapping such as {mechanism: scram-sha-512, user: chat, password_file: chat.pw}", []field{
			{"mechanism", yamlfile.Choice(r.Reader, &s.SASL.Mechanism, mechanisms, mechanisms)}, {"user", r.NonEmpty(&s.SASL.User)},
			{"password_file", r.NonEmpty(&s.SASL.PasswordFile)}, {"token_file", r.NonEmpty(&s.SASL.TokenFile)}, {"insecure", r.Boolean(&s.SASL.Insecure)},
		})
	}
}

// securedTogether reports logins that would send a secret in clear text, and incomplete ones.
func (r *reader) securedTogether(v value, s *Stream) {
	if t := v.Get("tls"); t != nil && s.TLS != nil && (s.TLS.CertFile == "") != (s.TLS.KeyFile == "") {
		r.Addf(t.Pos, "%s.tls has one of cert_file and key_file; give both or none", v.Path)
	}
	at := v.Get("sasl")
	if at == nil || s.SASL == nil || at.Shape != yamlfile.Mapping {
		return
	}
	away := slices.ContainsFunc(s.Brokers, func(b string) bool {
		host, _, _ := net.SplitHostPort(b)
		ip := net.ParseIP(host)
		return host != "localhost" && (ip == nil || !ip.IsLoopback())
	})
	switch {
	case s.SASL.Mechanism == "" && at.Get("mechanism") == nil:
		r.Addf(at.Pos, "%s.sasl has no mechanism; name plain, scram-sha-256, scram-sha-512 or oauthbearer", v.Path)
	case s.SASL.Mechanism == "oauthbearer" && s.SASL.TokenFile == "":
		r.Addf(at.Pos, "%s.sasl has no token_file, which oauthbearer needs", v.Path)
	case s.SASL.Mechanism != "oauthbearer" && s.SASL.Mechanism != "" && (s.SASL.User == "" || s.SASL.PasswordFile == ""):
		r.Addf(at.Pos, "%s.sasl needs user and password_file", v.Path)
	case s.TLS == nil && away && !s.SASL.Insecure:
		r.Addf(at.Pos, "%s.sasl would send the login without encryption to another machine; add tls: {}, or insecure: true if that is meant", v.Path)
	}
}

package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// clientID is the client id of redrive's connections. By it, redrive recognises its own members
// of a consumer group.
const clientID = "redrive"

// newTopicTries is how often the broker is asked for a topic that it does not know.
const newTopicTries = 10

// headersRoom is how much larger a record of the retry topic can be than the record that it came
// from, in bytes.
const headersRoom = 16 << 10

// Finding is something that a check of the cluster has found.
type Finding struct {
	Refuse bool   // the stream does not start; else it is a warning
	What   string // what is wrong
	Cure   string // what to do
}

func (f Finding) String() string { return f.What + "; " + f.Cure }

// Refused is the error of a stream that cannot start. It has every reason.
type Refused struct{ Findings []Finding }

func (r *Refused) Error() string {
	lines := make([]string, len(r.Findings))
	for i := range r.Findings {
		lines[i] = r.Findings[i].String()
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%d mistakes:\n- %s", len(lines), strings.Join(lines, "\n- "))
}

// checker collects findings.
type checker struct {
	o        *Options
	admin    *kadm.Client
	topics   map[string]*kmsg.MetadataResponseTopic
	findings []Finding
}

func (c *checker) refuse(cure, format string, args ...any) {
	c.findings = append(c.findings, Finding{true, fmt.Sprintf(format, args...), cure})
}

func (c *checker) warn(cure, format string, args ...any) {
	c.findings = append(c.findings, Finding{false, fmt.Sprintf(format, args...), cure})
}

// Check asks the cluster about everything that a stream needs, and returns what is wrong, all at
// once. It changes nothing. The error is that of a context that ended.
func Check(ctx context.Context, o *Options) ([]Finding, error) {
	c := &checker{o: o}
	opts, dial, err := o.secured()
	if err != nil {
		c.refuse("correct the settings of tls and sasl", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return c.findings, nil
	}
	asking, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	if !c.reach(asking, dial) {
		return c.findings, ctx.Err()
	}
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(o.Brokers...), kgo.ClientID(clientID), kgo.RequestRetries(3))...)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	defer client.Close()
	c.admin = kadm.NewClient(client)
	if c.metadata(asking, client) {
		c.primary()
		c.retry()
		c.configs(asking)
		beginning, cancel := context.WithTimeout(ctx, beginMax)
		defer cancel()
		c.group(beginning)
	}
	return c.findings, ctx.Err()
}

// reach connects to each broker that is named, and is false if none can be reached.
func (c *checker) reach(ctx context.Context, dial *tls.Config) bool {
	var failed []string
	for _, broker := range c.o.Brokers {
		if err := connect(ctx, broker, dial); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", broker, err))
		}
	}
	switch {
	case len(failed) == len(c.o.Brokers):
		cure := "check the addresses in brokers, or start these brokers"
		if dial != nil {
			cure = "check brokers and tls: ca_file must have the certificate that signed the broker's, and server_name a name in it"
		}
		c.refuse(cure, "no broker can be reached: %s", strings.Join(failed, "; "))
		return false
	case len(failed) > 0:
		c.warn("check the addresses in brokers", "a broker cannot be reached: %s", strings.Join(failed, "; "))
	}
	return true
}

func connect(ctx context.Context, address string, dial *tls.Config) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, "9092")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	if dial == nil {
		return nil
	}
	dial = dial.Clone()
	if host, _, err := net.SplitHostPort(address); err == nil {
		dial.ServerName = cmp.Or(dial.ServerName, host)
	}
	return tls.Client(conn, dial).HandshakeContext(ctx)
}

// metadata asks for the topics with the rights on them, and is false if the broker does not answer.
func (c *checker) metadata(ctx context.Context, client *kgo.Client) bool {
	q := kmsg.NewPtrMetadataRequest()
	q.IncludeTopicAuthorizedOperations = true
	q.AllowAutoTopicCreation = false
	for _, name := range c.o.topics() {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = new(name)
		q.Topics = append(q.Topics, t)
	}
	var answer *kmsg.MetadataResponse
	var err error
	for range newTopicTries { // a broker gets to know a new topic a moment after it was made
		answer, err = q.RequestWith(ctx, client)
		missing := func(t kmsg.MetadataResponseTopic) bool { return t.ErrorCode == kerr.UnknownTopicOrPartition.Code }
		if err != nil || !slices.ContainsFunc(answer.Topics, missing) || !pause(ctx, askAgain) {
			break
		}
	}
	if err != nil {
		switch {
		case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
			login := "without sasl"
			if s := c.o.SASL; s != nil {
				login = s.Mechanism + " as " + cmp.Or(s.User, "the owner of the token")
			}
			c.refuse("correct sasl: mechanism, user and the file with the secret", "the login failed (%s): %v", login, err)
		case c.o.SASL == nil || c.o.TLS == nil:
			c.refuse("check the addresses in brokers; if the broker requires TLS or a login, also set tls and sasl (it closes the connection without them)", "no broker has answered within %s: %v", answerMax, err)
		default:
			c.refuse("check the addresses in brokers, and the settings tls and sasl", "no broker has answered within %s: %v", answerMax, err)
		}
		return false
	}
	c.topics = map[string]*kmsg.MetadataResponseTopic{}
	for i := range answer.Topics {
		if t := &answer.Topics[i]; t.Topic != nil {
			c.topics[*t.Topic] = t
		}
	}
	return true
}

// allowed reports whether the client has a right; a broker that does not say counts as yes.
func allowed(operations int32, want kmsg.ACLOperation) bool {
	known := kadm.DecodeACLOperations(operations)
	return len(known) == 0 || slices.Contains(known, want)
}

func acl(right, resource, name string) string {
	return fmt.Sprintf("give this user the right %s on the %s %q (an ACL)", right, resource, name)
}

// topic checks that a topic is there and that the client has the rights on it.
func (c *checker) topic(what, name, missing string, rights ...kmsg.ACLOperation) *kmsg.MetadataResponseTopic {
	t := c.topics[name]
	if t == nil {
		c.refuse("try again", "the broker has said nothing about the %s topic %q", what, name)
		return nil
	}
	switch err := kerr.ErrorForCode(t.ErrorCode); {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		c.refuse(acl("Describe", "topic", name), "this user must not see the %s topic %q", what, name)
		return nil
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		c.refuse(missing, "the %s topic %q does not exist", what, name)
		return nil
	case err != nil:
		c.refuse("see the error", "the %s topic %q: %v", what, name, err)
		return nil
	}
	for _, right := range rights {
		if !allowed(t.AuthorizedOperations, right) {
			word := map[kmsg.ACLOperation]string{kmsg.ACLOperationRead: "Read", kmsg.ACLOperationWrite: "Write"}[right]
			c.refuse(acl(word, "topic", name), "this user must not %s the %s topic %q", strings.ToLower(word), what, name)
		}
	}
	if len(t.Partitions) > 0 && len(t.Partitions[0].Replicas) < 2 {
		c.warn("give it three replicas", "the %s topic %q has one replica: its records are lost with its broker", what, name)
	}
	return t
}

func (c *checker) primary() {
	c.topic("primary", c.o.Topic, "make it, or correct its name", kmsg.ACLOperationRead)
}

func (c *checker) retry() {
	if c.o.Retry != "" {
		c.topic("retry", c.o.Retry, "make it with `redrive-stream init`, or correct its name", kmsg.ACLOperationRead, kmsg.ACLOperationWrite)
	}
	for _, name := range []string{c.o.Dead, c.o.Results} {
		if name != "" {
			c.topic("written", name, "make it, or correct its name", kmsg.ACLOperationWrite)
		}
	}
}

// configs checks the settings of the topics.
func (c *checker) configs(ctx context.Context) {
	settings := map[string]map[string]string{}
	for _, name := range []string{c.o.Topic, c.o.Retry} {
		if name == "" || c.topics[name] == nil || c.topics[name].ErrorCode != 0 {
			continue
		}
		found, err := c.admin.DescribeTopicConfigs(ctx, name)
		if err == nil && len(found) > 0 {
			err = found[0].Err
		}
		if err != nil {
			c.warn(acl("DescribeConfigs", "topic", name), "the settings of the topic %q cannot be read: %v", name, err)
			continue
		}
		settings[name] = map[string]string{}
		for _, s := range found[0].Configs {
			settings[name][s.Key] = s.MaybeValue()
		}
	}
	primary, retry := settings[c.o.Topic], settings[c.o.Retry]
	if strings.Contains(primary["cleanup.policy"], "compact") && !c.o.AllowCompacted {
		c.refuse("set cleanup.policy to delete, or allow a compacted topic", "the primary topic %q is compacted: records vanish before they are read", c.o.Topic)
	}
	if kept, ok := lasting(primary); ok && kept < 24*time.Hour {
		c.warn("set its retention.ms to a day or more", "the primary topic %q keeps records for %s only", c.o.Topic, kept)
	}
	if kept, ok := lasting(retry); ok {
		switch longest := c.o.LongestWait; {
		case kept < longest+24*time.Hour:
			c.refuse("set its retention.ms to a week", "the retry topic %q keeps records for %s, and the longest wait is %s: records must be kept for a day longer", c.o.Retry, kept, longest)
		case kept < 2*longest:
			c.warn("set its retention.ms to a week", "the retry topic %q keeps records for %s, and the longest wait is %s", c.o.Retry, kept, longest)
		}
	}
	if a, b := size(primary), size(retry); retry != nil && a > 0 && b < a+headersRoom {
		c.warn(fmt.Sprintf("set its max.message.bytes to %d", a+headersRoom), "the retry topic %q takes records of at most %d bytes, the primary topic of at most %d: a large record may not fit into the retry topic, because it gets more headers there", c.o.Retry, b, a)
	}
	for name, s := range settings {
		if s["unclean.leader.election.enable"] == "true" {
			c.warn("set unclean.leader.election.enable to false", "the topic %q can lose records when its leader changes", name)
		}
		if t := c.topics[name]; s["min.insync.replicas"] == "1" && len(t.Partitions) > 0 && len(t.Partitions[0].Replicas) > 1 {
			c.warn("set min.insync.replicas to 2", "the topic %q may acknowledge a record as soon as a single broker has stored it", name)
		}
	}
}

// lasting returns how long a topic keeps its records; ok is false when it keeps them for ever or does not say.
func lasting(settings map[string]string) (kept time.Duration, ok bool) {
	ms, err := strconv.ParseInt(settings["retention.ms"], 10, 64)
	if err != nil || ms < 0 || ms > int64(365*24*time.Hour/time.Millisecond)*100 {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

func size(settings map[string]string) int {
	n, _ := strconv.Atoi(settings["max.message.bytes"]) // 0 when the topic does not say
	return n
}

// group checks that the client may read as the group, and that nobody else does.
func (c *checker) group(ctx context.Context) {
	name := c.o.Group
	var described kadm.DescribedGroups
	err := patiently(ctx, func() (err error) { described, err = c.admin.DescribeGroups(ctx, name); return err })
	g := described[name]
	if err == nil {
		err = g.Err
	}
	switch _, refused := errors.AsType[*kadm.AuthError](err); {
	case refused, errors.Is(err, kerr.GroupAuthorizationFailed):
		c.refuse(acl("Read", "group", name), "this user has no right to read as a member of the group %q", name)
		return
	case errors.Is(err, kerr.GroupIDNotFound): // it is new
		return
	case err != nil:
		c.refuse("try again", "the group %q cannot be read: %v", name, err)
		return
	}
	if len(g.AuthorizedOperations) > 0 && !slices.Contains(g.AuthorizedOperations, kmsg.ACLOperationRead) {
		c.refuse(acl("Read", "group", name), "this user has no right to read as a member of the group %q", name)
	}
	var others []string
	for i := range g.Members {
		if m := &g.Members[i]; m.ClientID != clientID {
			others = append(others, fmt.Sprintf("%s at %s", cmp.Or(m.ClientID, m.MemberID), m.ClientHost))
		}
	}
	if len(others) > 0 && !c.o.Alongside {
		c.refuse("stop them, use another group, or allow a stream alongside", "the group %q is in use by members that are not of redrive: %s", name, strings.Join(others, ", "))
	}
}

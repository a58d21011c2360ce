package notify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/suggest"
)

// Types of channels.
const (
	Mail    = "mail"
	Webhook = "webhook"
)

// Limits of rules.
const (
	RulesMax    = 50       // maximum number of rules
	ChannelsMax = 20       // maximum number of channels
	PeopleMax   = 100      // maximum number of names of people
	TargetsMax  = 20       // maximum number of addresses of a name, or of recipients of a rule
	DataMax     = 40       // maximum number of fields of a rule's data
	BodyMax     = 64 << 10 // maximum size of all rules in their stored form, in bytes
	AddressMax  = 254      // maximum length of an address, in bytes
	nameMax     = 64
)

// Rules say who hears of what. One set of rules is in force for all processes of a store. They
// contain no password and no secret: each process that sends mail has its own settings of the mail
// server.
type Rules struct {
	BaseURL  string              `json:"base_url,omitempty"` // the address of the pages, for links in notices; "" means no links
	People   map[string][]string `json:"people,omitempty"`   // e-mail addresses by a name such as "administrator"
	Channels map[string]Channel  `json:"channels"`
	Rules    []Rule              `json:"rules"`
}

// Channel is a way on which notices go.
type Channel struct {
	Type string `json:"type"` // Mail or Webhook
}

// Rule says which recipients hear of some events.
type Rule struct {
	On      []Event `json:"on"`
	Channel string  `json:"channel"`
	// To are the recipients. For a mail channel: addresses, names of people, AttrPrefix and the name
	// of an attribute of the batch or else the job, Owner, or HoldNotify. For a webhook channel: names of
	// endpoints.
	To    []string `json:"to"`
	Match Match    `json:"match,omitzero"`
	// Team says that the recipients operate the system. They get the texts for operators; all others
	// get the texts for users.
	Team bool `json:"team,omitempty"`
	// Every makes a notice for each event at once, without windows and limits.
	Every bool `json:"every,omitempty"`
	// Digest says how many messages about deaths are joined into one. The window of a recipient has the
	// settings of the rule that opened it.
	Digest DigestLimits `json:"digest,omitzero"`
	// Type is the type of the webhook's body; "" means the event. Data are the fields of its data, each
	// with the name of a fact; none means all facts.
	Type string            `json:"event,omitempty"`
	Data map[string]string `json:"data,omitempty"`
}

// Forms of a recipient other than an address or a name.
const (
	AttrPrefix = "attr."       // followed by the name of an attribute
	Owner      = "owner"       // the addresses that the program finds for the owner
	HoldNotify = "hold.notify" // the people whom the rule of the policy names that holds the job
)

// Match selects jobs by their exact values. An empty field selects all.
type Match struct {
	Kind   string `json:"kind,omitempty"`
	Queue  string `json:"queue,omitempty"`
	Owner  string `json:"owner,omitempty"` // of the job, or of the batch
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"`
	Code   string `json:"code,omitempty"`
}

// Events are the words that the field "on" of a rule can have.
func Events() []string {
	return []string{string(BatchReady), string(BatchPartial), string(BatchFailed), string(BatchEnd), string(BatchExpired),
		string(MemberDead), string(JobDead), string(JobHeld), string(GroupFirst), string(RedriveStopped), string(WebhookOff)}
}

// Encode returns the rules in their canonical form, and its hash. Rules that differ only in the order
// of their names have the same hash.
func (r *Rules) Encode() (body []byte, hash string) {
	body, _ = json.Marshal(r) // only texts, lists and maps, which can always be encoded
	sum := sha256.Sum256(body)
	return body, hex.EncodeToString(sum[:])
}

// Decode reads rules in their canonical form and checks them.
func Decode(body []byte) (*Rules, error) {
	r, err := Parse(body)
	if err != nil {
		return nil, err
	}
	return r, r.Validate()
}

// Parse reads rules without checking them; see Rules.Check.
func Parse(body []byte) (*Rules, error) {
	if len(body) > BodyMax {
		return nil, fmt.Errorf("rules of %d bytes: at most %d are allowed", len(body), BodyMax)
	}
	var r Rules
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("read the rules of notifications: %w", err)
	}
	return &r, nil
}

// Problem is a mistake in rules. Path is its place, such as "people", "administrator", 1.
type Problem struct {
	Path []any
	Err  error
}

func (p *Problem) String() string {
	var at strings.Builder
	for _, part := range p.Path {
		switch part := part.(type) {
		case int:
			fmt.Fprintf(&at, "[%d]", part)
		case string:
			if at.Len() > 0 {
				at.WriteByte('.')
			}
			at.WriteString(part)
		}
	}
	return at.String()
}

// Validate returns one error with all mistakes of the rules.
func (r *Rules) Validate() error {
	var errs []error
	for _, p := range r.Check() {
		errs = append(errs, fmt.Errorf("%s: %w", p.String(), p.Err))
	}
	return errors.Join(errs...)
}

// Check returns all mistakes of the rules.
func (r *Rules) Check() (problems []Problem) {
	add := func(err error, path ...any) {
		if err != nil {
			problems = append(problems, Problem{path, err})
		}
	}
	add(checkBaseURL(r.BaseURL), "base_url")
	add(atMost("rules", len(r.Rules), RulesMax), "rules")
	add(atMost("channels", len(r.Channels), ChannelsMax), "channels")
	add(atMost("names of people", len(r.People), PeopleMax), "people")
	for _, name := range slices.Sorted(maps.Keys(r.People)) {
		add(CheckName("name of people", name), "people", name)
		if n := len(r.People[name]); n < 1 || n > TargetsMax {
			add(fmt.Errorf("%d addresses: a name must have 1 to %d", n, TargetsMax), "people", name)
		}
		for i, address := range r.People[name] {
			_, err := Address(address)
			add(err, "people", name, i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Channels)) {
		add(CheckName("name of a channel", name), "channels", name)
		if t := r.Channels[name].Type; t != Mail && t != Webhook {
			add(fmt.Errorf("the type %.40q is not known%s", t, hint(t, []string{Mail, Webhook})), "channels", name, "type")
		}
	}
	for i := range r.Rules {
		for _, p := range r.checkRule(&r.Rules[i]) {
			add(p.Err, append([]any{"rules", i}, p.Path...)...)
		}
	}
	if body, _ := r.Encode(); len(problems) == 0 && len(body) > BodyMax {
		add(fmt.Errorf("the rules have %d bytes: at most %d are allowed; use names of \"people\" for long lists", len(body), BodyMax), "rules")
	}
	return problems
}

func atMost(what string, n, limit int) error {
	if n <= limit {
		return nil
	}
	return fmt.Errorf("%d %s: at most %d are allowed", n, what, limit)
}

func checkBaseURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%.80q is not the address of a server: write one such as https://jobs.example.com", text)
	}
	return nil
}

// checkRule returns the mistakes of one rule.
func (r *Rules) checkRule(rule *Rule) (problems []Problem) {
	add := func(err error, path ...any) {
		if err != nil {
			problems = append(problems, Problem{path, err})
		}
	}
	if len(rule.On) == 0 {
		add(fmt.Errorf("the rule has no event: add \"on\" with at least one of %s", suggest.List(Events())))
	}
	for i, on := range rule.On {
		if !slices.Contains(Events(), string(on)) {
			add(fmt.Errorf("the event %.60q is not known%s", string(on), hint(string(on), Events())), "on", i)
		}
	}
	if i := rule.ofNoJob(); i >= 0 && rule.Match != (Match{}) {
		add(fmt.Errorf("%s is not about a job or a batch, so nothing of it can match: write a rule of its own for it, without \"match\"", rule.On[i]), "on", i)
	}
	add(rule.checkDigest(), "digest")
	channel, known := r.Channels[rule.Channel]
	if !known {
		names := slices.Sorted(maps.Keys(r.Channels))
		add(fmt.Errorf("the channel %.60q is not defined%s", rule.Channel, hint(rule.Channel, names)), "channel")
		return problems
	}
	switch n := len(rule.To); {
	case n < 1:
		add(errors.New("the rule has no recipients: add \"to\""))
	case n > TargetsMax:
		add(atMost("recipients", n, TargetsMax), "to")
	}
	for i, to := range rule.To {
		add(r.checkTarget(rule, channel.Type, to), "to", i)
	}
	return append(problems, checkBody(rule, channel.Type)...)
}

// ofNoJob returns the index of the first event that is neither about a job nor about a batch; -1 for
// none.
func (r *Rule) ofNoJob() int {
	return slices.IndexFunc(r.On, func(on Event) bool { return on == WebhookOff || on == RedriveStopped })
}

func (r *Rules) checkTarget(rule *Rule, channel, to string) error {
	noJob := rule.ofNoJob()
	switch {
	case channel == Webhook:
		return CheckName("name of an endpoint", to)
	case to == HoldNotify:
		if len(rule.On) != 1 || rule.On[0] != JobHeld {
			return fmt.Errorf("the recipient %s is possible only in a rule with \"on: %s\", because only held jobs have such people", HoldNotify, JobHeld)
		}
		return nil
	case strings.HasPrefix(to, AttrPrefix) || to == Owner:
		if to == AttrPrefix || len(to) > AddressMax {
			return fmt.Errorf("the recipient %.60q names no attribute: write one such as attr.owner_email", to)
		}
		if noJob >= 0 {
			return fmt.Errorf("the recipient %.60q is not possible with %s, which is not about a job: use an address or a name of \"people\"", to, rule.On[noJob])
		}
		return nil
	case strings.Contains(to, "@"):
		_, err := Address(to)
		return err
	}
	if _, known := r.People[to]; !known {
		names := append(slices.Sorted(maps.Keys(r.People)), Owner, HoldNotify)
		return fmt.Errorf("%.60q is neither an address nor a name of \"people\"%s", to, hint(to, names))
	}
	return nil
}

// checkBody checks the fields of a rule that only a webhook has.
func checkBody(rule *Rule, channel string) (problems []Problem) {
	add := func(err error, path ...any) {
		if err != nil {
			problems = append(problems, Problem{path, err})
		}
	}
	if channel == Mail {
		if rule.Type != "" || len(rule.Data) > 0 {
			add(errors.New("\"event\" and \"data\" are for channels of the type webhook, and this channel has the type mail: remove them"))
		}
		return problems
	}
	if i := slices.Index(rule.On, WebhookOff); i >= 0 {
		add(fmt.Errorf("%s goes to channels of the type mail only, because a webhook about a webhook can fail in the same way", WebhookOff), "on", i)
	}
	if rule.Team {
		add(errors.New("\"team\" is for channels of the type mail: remove it"), "team")
	}
	if rule.Type != "" {
		add(CheckName("event", rule.Type), "event")
	}
	add(atMost("fields", len(rule.Data), DataMax), "data")
	for _, field := range slices.Sorted(maps.Keys(rule.Data)) {
		if fact := rule.Data[field]; !knownFact(fact) {
			add(fmt.Errorf("the fact %.60q is not known%s", fact, hint(fact, factNames)), "data", field)
		}
	}
	return problems
}

// CheckName returns an error for a name that is not 1 to 64 of a-z, 0-9, '_', '.' and '-'.
func CheckName(what, name string) error {
	if name == "" || len(name) > nameMax || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" {
		return fmt.Errorf("the %s %.80q must be 1 to %d of a-z, 0-9, '_', '.' and '-'", what, name, nameMax)
	}
	return nil
}

// Address checks an e-mail address and returns it: one address without a name.
func Address(text string) (string, error) {
	switch {
	case text == "":
		return "", errors.New("the address is empty: write one such as ops@example.com")
	case len(text) > AddressMax:
		return "", fmt.Errorf("the address has %d bytes: at most %d are allowed", len(text), AddressMax)
	case strings.ContainsAny(text, "\r\n\x00"):
		return "", errors.New("the address contains a line break or a NUL character: remove it")
	}
	a, err := mail.ParseAddress(text)
	if err != nil || a.Name != "" || a.Address != text {
		return "", fmt.Errorf("%.80q is not an e-mail address: write one such as ops@example.com", text)
	}
	return text, nil
}

// hint names the known word that was probably meant, or all of them.
func hint(word string, known []string) string {
	if h := suggest.DidYouMean(word, known); h != "" {
		return h
	}
	if len(known) == 0 {
		return ""
	}
	return "; use one of " + suggest.List(known)
}

// Endpoints returns the names of the endpoints that the rules use, sorted.
func (r *Rules) Endpoints() (names []string) {
	for i := range r.Rules {
		if r.Channels[r.Rules[i].Channel].Type == Webhook {
			names = append(names, r.Rules[i].To...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Uses reports whether a rule uses a channel of the given type.
func (r *Rules) Uses(channel string) bool {
	return slices.ContainsFunc(r.Rules, func(rule Rule) bool { return r.Channels[rule.Channel].Type == channel })
}

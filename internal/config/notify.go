package config

import (
	"slices"
	"time"

	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/notify"
)

// Notify says who hears of what, and how this process sends mail.
type Notify struct {
	// Rules are published in the store, for all processes. Nil if the file has no section "notify".
	Rules *notify.Rules
	// Servers are the mail servers of the channels of the type mail, by channel. They stay in this
	// process.
	Servers map[string]MailServer
	// Templates is the folder of texts of mails that replace the built-in ones. Default "".
	Templates string
}

// MailServer is the mail server of a channel.
type MailServer struct {
	From     string // the sender's address, also with a name
	Host     string
	Port     int    // 0 means that of TLS: 587 or 465
	TLS      string // starttls, implicit or none. Default starttls.
	Insecure bool   // allows none. Default false.
	User     string
	// PasswordEnv is the environment variable that holds the password. Default "": no password.
	PasswordEnv string
}

// The words of MailServer.TLS.
var tlsWords = []string{"starttls", "implicit", "none"}

const recipientsWanted = "a list of recipients such as [ops@example.com]"

// notify reads who hears of what. The rules are checked as the store checks them; each mistake is
// reported at its place in the file.
func (r *reader) notify(v value, n *Notify) {
	if !r.Is(v, yamlfile.Mapping, "a mapping such as {channels: …, rules: …}") {
		return
	}
	n.Rules = &notify.Rules{}
	before := len(r.Problems())
	r.Fields(v, "a mapping such as {channels: …, rules: …}", []field{
		{"base_url", r.NonEmpty(&n.Rules.BaseURL)},
		{"people", func(v value) { r.people(v, n) }},
		{"channels", func(v value) { r.channels(v, n) }},
		{"rules", yamlfile.ListOf(r.Reader, &n.Rules.Rules, "a list of rules such as [{on: [job.dead], channel: mail, to: ops@example.com}]", r.rule)},
		{"templates", r.NonEmpty(&n.Templates)},
	})
	if len(r.Problems()) > before {
		return // what the rules refer to may be missing for that reason only
	}
	for _, p := range n.Rules.Check() {
		r.Addf(placeOf(v, p.Path), "notify.%s: %v", p.String(), p.Err)
	}
}

func (r *reader) people(v value, n *Notify) {
	r.Named(v, "a mapping such as {administrator: [ops@example.com]}", "person", func(name string, _ position, v value) {
		if n.Rules.People == nil {
			n.Rules.People = map[string][]string{}
		}
		var all []string
		r.oneOrMore(&all, recipientsWanted)(v)
		n.Rules.People[name] = all
	})
}

func (r *reader) channels(v value, n *Notify) {
	r.Named(v, "a mapping such as {mail: {type: mail, from: …, smtp: …}}", "channel", func(name string, at position, v value) {
		if n.Rules.Channels == nil {
			n.Rules.Channels = map[string]notify.Channel{}
		}
		var c notify.Channel
		s := MailServer{TLS: tlsWords[0]}
		types := []string{notify.Mail, notify.Webhook}
		r.Fields(v, "a mapping such as {type: mail, from: …, smtp: …}", []field{
			{"type", yamlfile.Choice(r.Reader, &c.Type, types, types)},
			{"from", r.NonEmpty(&s.From)},
			{"smtp", func(v value) { r.smtp(v, &s) }},
		})
		n.Rules.Channels[name] = c
		if v.Shape != yamlfile.Mapping {
			return
		}
		switch mail := c.Type == notify.Mail; {
		case v.Get("type") == nil:
			r.Addf(at, "%s has no type; add \"type: mail\" or \"type: webhook\"", v.Path)
		case mail && v.Get("from") == nil:
			r.Addf(at, "%s has no sender; add one such as from: Copies <no-reply@example.com>", v.Path)
		case mail && (v.Get("smtp") == nil || v.Get("smtp").Get("host") == nil):
			r.Addf(at, "%s has no mail server; add one such as smtp: {host: smtp.example.com}", v.Path)
		case c.Type == notify.Webhook && v.Get("smtp") != nil:
			r.Addf(v.Get("smtp").Pos, "%s is for webhooks, which need no mail server; remove smtp", v.Path)
		case mail:
			r.together(v, &s)
			if n.Servers == nil {
				n.Servers = map[string]MailServer{}
			}
			n.Servers[name] = s
		}
	})
}

func (r *reader) smtp(v value, s *MailServer) {
	r.Fields(v, "a mapping such as {host: smtp.example.com, user: copies, password_env: SMTP_PASSWORD}", []field{
		{"host", r.NonEmpty(&s.Host)},
		{"port", r.Integer(&s.Port, 1, 65535, "")},
		{"tls", yamlfile.Choice(r.Reader, &s.TLS, tlsWords, tlsWords)},
		{"insecure", r.Boolean(&s.Insecure)},
		{"user", r.NonEmpty(&s.User)},
		{"password_env", r.NonEmpty(&s.PasswordEnv)},
	})
}

// together checks settings of a mail server that depend on each other.
func (r *reader) together(v value, s *MailServer) {
	smtp := v.Get("smtp")
	switch {
	case s.TLS == "none" && !s.Insecure:
		r.Addf(smtp.Get("tls").Pos, "%s.smtp: a mail server without TLS is refused; use starttls or implicit, or add \"insecure: true\"", v.Path)
	case s.TLS == "none" && s.User != "":
		r.Addf(smtp.Get("user").Pos, "%s.smtp: a password is sent over TLS only; use starttls or implicit, or remove the user", v.Path)
	case (s.User == "") != (s.PasswordEnv == ""):
		r.Addf(smtp.Pos, "%s.smtp has only one of user and password_env; set both, or remove it", v.Path)
	}
}

func (r *reader) rule(into *notify.Rule) func(value) {
	return func(v value) {
		var on []string
		var preset string
		r.Fields(v, "a rule such as {on: [job.dead], channel: mail, to: ops@example.com}", []field{
			{"on", r.oneOrMore(&on, "a list of events such as [batch.end, member.dead]")},
			{"preset", yamlfile.Choice(r.Reader, &preset, notify.Presets(), notify.Presets())},
			{"channel", r.NonEmpty(&into.Channel)},
			{"to", r.oneOrMore(&into.To, recipientsWanted)},
			{"match", func(v value) { r.match(v, &into.Match) }},
			{"team", r.Boolean(&into.Team)},
			{"every", r.Boolean(&into.Every)},
			{"digest", func(v value) { r.digest(v, &into.Digest) }},
			{"event", r.NonEmpty(&into.Type)},
			{"data", func(v value) { r.data(v, into) }},
		})
		for _, word := range on {
			into.On = append(into.On, notify.Event(word))
		}
		if preset != "" {
			r.preset(v, into, preset)
		}
	}
}

// preset sets what a preset says about a rule. The rule must not say it itself.
func (r *reader) preset(v value, into *notify.Rule, name string) {
	for _, key := range []string{"on", "event", "data"} {
		if own := v.Get(key); own != nil {
			r.Addf(own.Pos, "%s has the preset %s, which says what \"%s\" is; remove one of both", v.Path, name, key)
		}
	}
	rule, err := notify.Preset(name, into.Channel, into.To...)
	if err != nil {
		r.Addf(v.Get("preset").Pos, "%s: %v", v.Path, err)
		return
	}
	into.On, into.Type, into.Data = rule.On, rule.Type, rule.Data
}

func (r *reader) match(v value, m *notify.Match) {
	r.Fields(v, "a mapping such as {kind: detect}", []field{
		{"kind", r.NonEmpty(&m.Kind)}, {"queue", r.NonEmpty(&m.Queue)}, {"owner", r.NonEmpty(&m.Owner)},
		{"class", r.NonEmpty(&m.Class)}, {"reason", r.NonEmpty(&m.Reason)}, {"code", r.NonEmpty(&m.Code)},
	})
}

func (r *reader) digest(v value, d *notify.DigestLimits) {
	var wait time.Duration
	r.Fields(v, "a mapping such as {above: 5, wait: 5m}", []field{
		{"above", r.Integer(&d.Above, 1, notify.ItemsMax, "")},
		{"wait", r.Duration(&wait, notify.DigestWaitMin, notify.DigestWaitMax)},
	})
	d.Wait = int(wait / time.Second)
}

func (r *reader) data(v value, into *notify.Rule) {
	const wanted = "a mapping such as {campaign_id: batch.key}"
	if !r.Is(v, yamlfile.Mapping, wanted) {
		return
	}
	into.Data = make(map[string]string, len(v.Entries))
	for _, e := range v.Entries {
		var fact string
		r.NonEmpty(&fact)(value{Node: e.Value, Path: yamlfile.Join(v.Path, yamlfile.Clip(e.Key))})
		into.Data[e.Key] = fact
	}
}

// oneOrMore reads a text or a list of texts.
func (r *reader) oneOrMore(into *[]string, wanted string) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Text {
			*into = []string{v.Text}
			return
		}
		if !r.Is(v, yamlfile.List, "a text, or "+wanted) {
			return
		}
		r.NoRepeats(v)
		yamlfile.ListOf(r.Reader, into, wanted, r.NonEmpty)(v)
	}
}

// placeOf returns the place in the file of a part of the rules, or of what comes nearest.
func placeOf(v value, path []any) position {
	node := v.Node
	for _, part := range path {
		var next *yamlfile.Node
		switch part := part.(type) {
		case string:
			next = node.Get(part)
		case int:
			if node.Shape == yamlfile.Text && part == 0 {
				next = node
			} else if part < len(node.Items) {
				next = node.Items[part]
			}
		}
		if next == nil {
			break
		}
		node = next
	}
	return node.Pos
}

// Names returns the names of the channels with a mail server, sorted.
func (n *Notify) Names() (names []string) {
	for name := range n.Servers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

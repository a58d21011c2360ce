package config

import (
	"strings"
	"time"

	"github.com/redrive/redrive/internal/charset"
	"github.com/redrive/redrive/internal/yamlfile"
)

func (r *reader) kinds(v value, c *Config) {
	r.Named(v, "a mapping such as {thumbnail: {command: [./thumb]}}", "kind", func(name string, at position, v value) {
		c.Kinds[name] = r.kind(v, at, c)
		c.KindNames = append(c.KindNames, name)
	})
}

func (r *reader) kind(v value, at position, c *Config) Kind {
	k := defaultKind()
	r.Fields(v, "a mapping such as {command: [./thumb]}", []field{
		{"command", r.command(&k.Command)},
		{"queue", r.NonEmpty(&k.Queue)},
		{"timeout", r.Duration(&k.Timeout, timeoutMin, timeoutMax)},
		{"kill_grace", r.Duration(&k.KillGrace, killGraceMin, killGraceMax)},
		{"priority", r.Integer(&k.Priority, priorityMin, priorityMax, "")},
		{"workers", r.Integer(&k.Workers, workersMin, workersMax, "")},
		{"limit", r.Integer(&k.Limit, limitMin, limitMax, "")},
		{"rate", r.rate(&k.Rate)},
		{"max_crashes", r.Integer(&k.MaxCrashes, maxCrashesMin, maxCrashesMax, "")},
		{"env", r.env(&k.Env)},
		{"set_env", r.setEnv(&k.SetEnv)},
		{"dir", r.NonEmpty(&k.Dir)},
		{"output", r.NonEmpty(&k.Output)},
		{"encoding", r.encoding(&k.Encoding)},
		{"payload", yamlfile.Choice(r.Reader, &k.Payload, []string{PayloadJSON, PayloadText}, []string{PayloadJSON, PayloadText})},
		{"schema", r.NonEmpty(&k.Schema)},
		{"keep_payload", r.Boolean(&k.KeepPayload)},
		{"owner", r.owner(&k.Owner)},
		{"permanent_exit_codes", r.exitCodes(&k.PermanentExitCodes)},
		{"retry", r.retry(&k.Retry, c.MaxAttempts)},
	})
	if v.Shape != yamlfile.Mapping && v.Shape != yamlfile.Null {
		return k
	}
	if v.Get("command") == nil {
		r.Addf(at, `%s has no command; add one such as command: [./thumb, --size, "256"]`, v.Path)
	}
	if s := v.Get("schema"); s != nil && k.Payload == PayloadText {
		r.Addf(s.Pos, "%s.schema checks JSON, and %s has \"payload: text\"; remove one of them", v.Path, v.Path)
	}
	if queue := v.Get("queue"); queue == nil {
		r.checkQueue(at, v.Path+" names no queue and the queue", k.Queue, c)
	} else if queue.Shape == yamlfile.Text && queue.Text != "" {
		r.checkQueue(queue.Pos, v.Path+".queue", queue.Text, c)
	}
	return k
}

// encoding reads the name of the encoding in which a program writes.
func (r *reader) encoding(into *string) func(value) {
	return func(v value) {
		r.NonEmpty(into)(v)
		if v.Shape != yamlfile.Text || v.Text == "" {
			return
		}
		if _, err := charset.Find(v.Text); err != nil {
			r.Addf(v.Pos, "%s: %v", v.Path, err)
		}
	}
}

const commandWanted = `a list of a program and its arguments such as [./thumb, --size, "256"]`

func (r *reader) command(into *[]string) func(value) {
	return func(v value) {
		switch {
		case v.Shape == yamlfile.Text:
			r.Mismatch(v, commandWanted, "; no shell splits it")
		case v.Shape == yamlfile.List && len(v.Items) == 0:
			r.Addf(v.Pos, "%s is empty; write %s", v.Path, commandWanted)
		case v.Shape == yamlfile.List && v.Items[0].Shape == yamlfile.Text && v.Items[0].Text == "":
			r.Addf(v.Items[0].Pos, "%s[0] is empty; the first item is the program", v.Path)
		default:
			yamlfile.ListOf(r.Reader, into, commandWanted, r.Words)(v)
		}
	}
}

func (r *reader) env(into *[]string) func(value) {
	return func(v value) {
		yamlfile.ListOf(r.Reader, into, "a list of names such as [PATH, HOME]", r.Words)(v)
		for _, item := range v.Items {
			if item.Shape == yamlfile.Text && !isVariable(item.Text) {
				cure := "use letters, digits and '_', not starting with a digit"
				if strings.Contains(item.Text, "=") {
					cure = "give names here and values under \"set_env\""
				}
				r.Addf(item.Pos, "%s is a list of variables' names, found %s; %s", v.Path, item.Describe(), cure)
			}
		}
		r.NoRepeats(v)
	}
}

func (r *reader) setEnv(into *map[string]string) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.Mapping, "a mapping such as {LANG: C}") {
			return
		}
		*into = map[string]string{}
		for _, e := range v.Entries {
			shown := e.Key
			if !isVariable(e.Key) {
				shown = yamlfile.Quote(e.Key)
				r.Addf(e.Pos, "%s holds variables, found the name %s; use letters, digits and '_', not starting with a digit", v.Path, shown)
			}
			var text string
			r.Words(&text)(value{Node: e.Value, Path: yamlfile.Join(v.Path, yamlfile.Clip(shown))})
			(*into)[e.Key] = text
		}
	}
}

// isVariable reports whether a name consists of letters, digits and underscores and
// does not begin with a digit, as POSIX requires of environment variables.
func isVariable(s string) bool {
	const letters = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s == "" || !strings.ContainsRune(letters, rune(s[0])) {
		return false
	}
	return strings.Trim(s, letters+"0123456789") == ""
}

func (r *reader) exitCodes(into *[]int) func(value) {
	return func(v value) {
		yamlfile.ListOf(r.Reader, into, "a list of exit codes such as [65]", func(into *int) func(value) {
			return r.Integer(into, exitCodeMin, exitCodeMax, "")
		})(v)
		r.NoRepeats(v)
	}
}

func (r *reader) waits(into *[]time.Duration) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.List && (len(v.Items) == 0 || len(v.Items) > waitsMax) {
			r.Addf(v.Pos, "%s must hold 1 to %d durations, found %d; the last one repeats, and \"max_retries: 0\" switches retries off",
				v.Path, waitsMax, len(v.Items))
			return
		}
		yamlfile.ListOf(r.Reader, into, "a list of durations such as [1s, 10s, 1m]", func(into *time.Duration) func(value) {
			return r.Duration(into, waitMin, waitMax)
		})(v)
	}
}

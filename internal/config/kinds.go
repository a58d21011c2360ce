package config

import (
	"strings"
	"time"
)

func (r *reader) kinds(v value, c *Config) {
	r.named(v, "a mapping such as {thumbnail: {command: [./thumb]}}", "kind", func(name string, at position, v value) {
		c.Kinds[name] = r.kind(v, at, c)
		c.KindNames = append(c.KindNames, name)
	})
}

func (r *reader) kind(v value, at position, c *Config) Kind {
	k := defaultKind(c.MaxAttemptsCeiling)
	r.fields(v, "a mapping such as {command: [./thumb]}", []field{
		{"command", r.command(&k.Command)},
		{"queue", r.nonEmpty(&k.Queue)},
		{"timeout", r.duration(&k.Timeout, timeoutMin, timeoutMax)},
		{"kill_grace", r.duration(&k.KillGrace, killGraceMin, killGraceMax)},
		{"priority", r.integer(&k.Priority, priorityMin, priorityMax, "")},
		{"workers", r.integer(&k.Workers, workersMin, workersMax, "")},
		{"limit", r.integer(&k.Limit, limitMin, limitMax, "")},
		{"rate", r.rate(&k.Rate)},
		{"max_crashes", r.integer(&k.MaxCrashes, maxCrashesMin, maxCrashesMax, "")},
		{"env", r.env(&k.Env)},
		{"set_env", r.setEnv(&k.SetEnv)},
		{"dir", r.nonEmpty(&k.Dir)},
		{"payload", choice(r, &k.Payload, []string{PayloadJSON, PayloadText}, []string{PayloadJSON, PayloadText})},
		{"permanent_exit_codes", r.exitCodes(&k.PermanentExitCodes)},
		{"retry", r.retry(&k.Retry, c.MaxAttemptsCeiling)},
	})
	if v.shape != shapeMapping && v.shape != shapeNull {
		return k
	}
	if v.get("command") == nil {
		r.addf(at, `%s has no command; add one such as command: [./thumb, --size, "256"]`, v.path)
	}
	if queue := v.get("queue"); queue == nil {
		r.checkQueue(at, v.path+" names no queue and the queue", k.Queue, c)
	} else if queue.shape == shapeText && queue.text != "" {
		r.checkQueue(queue.pos, v.path+".queue", queue.text, c)
	}
	return k
}

const commandWanted = `a list of a program and its arguments such as [./thumb, --size, "256"]`

func (r *reader) command(into *[]string) func(value) {
	return func(v value) {
		switch {
		case v.shape == shapeText:
			r.mismatch(v, commandWanted, "; no shell splits it")
		case v.shape == shapeList && len(v.items) == 0:
			r.addf(v.pos, "%s is empty; write %s", v.path, commandWanted)
		case v.shape == shapeList && v.items[0].shape == shapeText && v.items[0].text == "":
			r.addf(v.items[0].pos, "%s[0] is empty; the first item is the program", v.path)
		default:
			listOf(r, into, commandWanted, r.words)(v)
		}
	}
}

func (r *reader) env(into *[]string) func(value) {
	return func(v value) {
		listOf(r, into, "a list of names such as [PATH, HOME]", r.words)(v)
		for _, item := range v.items {
			if item.shape == shapeText && !isVariable(item.text) {
				cure := "use letters, digits and '_', not starting with a digit"
				if strings.Contains(item.text, "=") {
					cure = "give names here and values under set_env"
				}
				r.addf(item.pos, "%s is a list of variables' names, found %s; %s", v.path, item.describe(), cure)
			}
		}
		r.noRepeats(v)
	}
}

func (r *reader) setEnv(into *map[string]string) func(value) {
	return func(v value) {
		if v.shape == shapeNull || !r.is(v, shapeMapping, "a mapping such as {LANG: C}") {
			return
		}
		*into = map[string]string{}
		for _, e := range v.entries {
			shown := e.key
			if !isVariable(e.key) {
				shown = quote(e.key)
				r.addf(e.pos, "%s holds variables, found the name %s; use letters, digits and '_', not starting with a digit", v.path, shown)
			}
			var text string
			r.words(&text)(value{e.value, join(v.path, clip(shown))})
			(*into)[e.key] = text
		}
	}
}

// isVariable accepts the names of environment variables that POSIX calls portable, in either case.
func isVariable(s string) bool {
	const letters = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s == "" || !strings.ContainsRune(letters, rune(s[0])) {
		return false
	}
	return strings.Trim(s, letters+"0123456789") == ""
}

func (r *reader) exitCodes(into *[]int) func(value) {
	return func(v value) {
		listOf(r, into, "a list of exit codes such as [65]", func(into *int) func(value) {
			return r.integer(into, exitCodeMin, exitCodeMax, "")
		})(v)
		r.noRepeats(v)
	}
}

func (r *reader) waits(into *[]time.Duration) func(value) {
	return func(v value) {
		if v.shape == shapeList && (len(v.items) == 0 || len(v.items) > waitsMax) {
			r.addf(v.pos, "%s must hold 1 to %d durations, found %d; the last one repeats, and max_retries: 0 switches retries off",
				v.path, waitsMax, len(v.items))
			return
		}
		listOf(r, into, "a list of durations such as [1s, 10s, 1m]", func(into *time.Duration) func(value) {
			return r.duration(into, waitMin, waitMax)
		})(v)
	}
}

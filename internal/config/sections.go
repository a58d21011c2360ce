package config

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy/preset"
)

// config reads the whole file. It reads sections that other sections refer to first, wherever
// they are in the file.
func (r *reader) config(v value, c *Config) {
	r.Fields(v, "a mapping", []field{
		{"database", r.database(c)},
		{"postgres", func(v value) { r.postgres(v, c) }},
		{"temp_dir", r.NonEmpty(&c.TempDir)},
		{"development", r.Boolean(&c.Development)},
		{"keep_raw", r.Boolean(&c.KeepRaw)},
		{"keep_paths", r.Boolean(&c.KeepPaths)},
		{"keep_addresses", r.Boolean(&c.KeepAddresses)},
		{"hide_emails", r.Boolean(&c.HideEmails)},
		{"lease", r.Duration(&c.Lease, leaseMin, leaseMax)},
		{"rescue_interval", r.Duration(&c.RescueInterval, rescueIntervalMin, rescueIntervalMax)},
		{"shutdown_grace", r.Duration(&c.ShutdownGrace, shutdownGraceMin, shutdownGraceMax)},
		{"max_attempts", r.Integer(&c.MaxAttempts, attemptsCeilingMin, attemptsCeilingMax, "")},
		{"policy", r.policy(&c.Policy)},
		{"log", func(v value) { r.log(v, &c.Log) }},
		{"limits", func(v value) { r.limits(v, &c.Limits) }},
		{"queues", func(v value) { r.queues(v, c) }},
		{"kinds", func(v value) { r.kinds(v, c) }},
		{"retention", func(v value) { r.retention(v, &c.Retention) }},
		{"cron", func(v value) { r.cron(v, c) }},
		{"server", func(v value) { r.server(v, c) }},
		{"streams", func(v value) { r.streams(v, c) }},
		{"notify", func(v value) { r.notify(v, &c.Notify) }},
	})
}

// policy reads the path of a policy file or the name of a preset.
func (r *reader) policy(into *string) func(value) {
	return func(v value) {
		r.NonEmpty(into)(v)
		name, ok := strings.CutPrefix(v.Text, PresetPrefix)
		names := append([]string{PresetDefault}, preset.Names()...)
		if !ok || v.Shape != yamlfile.Text || slices.Contains(names, name) {
			return
		}
		hint := suggest.DidYouMean(name, names)
		if hint == "" {
			hint = "; the presets are " + suggest.List(names)
		}
		r.Addf(v.Pos, "\"policy\" names the preset %s, which is not known%s", yamlfile.Quote(name), hint)
	}
}

func (r *reader) log(v value, l *Log) {
	r.Fields(v, "a mapping such as {level: info, format: text}", []field{
		{"level", yamlfile.Choice(r.Reader, &l.Level, []string{"debug", "info", "warn", "error"},
			[]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError})},
		{"format", yamlfile.Choice(r.Reader, &l.Format, []string{LogText, LogJSON}, []string{LogText, LogJSON})},
	})
}

func (r *reader) limits(v value, l *Limits) {
	r.Fields(v, "a mapping such as {payload: 256KiB}", []field{
		{"payload", r.size(&l.PayloadBytes, payloadBytesMin, payloadBytesMax)},
	})
}

// queues reads the queues. If the file has no queues, the configuration keeps the default queue.
func (r *reader) queues(v value, c *Config) {
	switch {
	case len(v.Entries) > 0:
		c.Queues, c.QueueNames = map[string]Queue{}, nil
	case v.Shape != yamlfile.Mapping && v.Shape != yamlfile.Null:
		c.Queues = nil // an empty default would make the kinds report an unknown queue, too
	}
	r.Named(v, "a mapping such as {default: {workers: 4}}", "queue", func(name string, _ position, v value) {
		q := defaultQueue()
		r.Fields(v, "a mapping such as {workers: 4}", []field{
			{"workers", r.Integer(&q.Workers, workersMin, workersMax, "")},
			{"limit", r.Integer(&q.Limit, limitMin, limitMax, "")},
			{"rate", r.rate(&q.Rate)},
		})
		c.Queues[name] = q
		if yamlfile.IsName(name) {
			c.QueueNames = append(c.QueueNames, name)
		}
	})
}

// checkQueue reports a queue that is not defined, unless no queue could be read.
func (r *reader) checkQueue(at position, subject, queue string, c *Config) {
	if _, ok := c.Queues[queue]; ok || c.Queues == nil {
		return
	}
	hint := suggest.DidYouMean(queue, c.QueueNames)
	if hint == "" {
		hint = "; use one of them or define it"
	}
	r.Addf(at, "%s %s is not defined under \"queues\" (defined: %s)%s", subject, yamlfile.Quote(queue), suggest.List(c.QueueNames), hint)
}

package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/words"
)

// newLogger returns a logger with the level and the format of the configuration. Text on a
// terminal has a short form for people.
func newLogger(w io.Writer, s style, c config.Log) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.Level}
	switch {
	case c.Format == config.LogJSON:
		return slog.New(slog.NewJSONHandler(w, o))
	case s.terminal:
		return slog.New(newConsole(w, s, c.Level))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// console is a slog.Handler for terminals: it writes the time of day, the message and then
// the attributes in the format of slog.TextHandler.
type console struct {
	w     io.Writer
	style style
	attrs slog.Handler // writes the attributes, without time, level and message, into buf
	*shared
}

type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func newConsole(w io.Writer, s style, level slog.Level) *console {
	c := &console{w: w, style: s, shared: &shared{}}
	c.attrs = slog.NewTextHandler(&c.buf, &slog.HandlerOptions{Level: level, ReplaceAttr: consoleAttr})
	return c
}

func consoleAttr(groups []string, a slog.Attr) slog.Attr {
	builtIn := a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey
	switch {
	case len(groups) == 0 && builtIn:
		return slog.Attr{}
	case a.Value.Kind() == slog.KindDuration:
		return slog.String(a.Key, words.Span(a.Value.Duration()))
	}
	return a
}

// Enabled implements slog.Handler.
func (c *console) Enabled(ctx context.Context, level slog.Level) bool {
	return c.attrs.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (c *console) Handle(ctx context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf.Reset()
	if err := c.attrs.Handle(ctx, r); err != nil {
		return err
	}
	message := words.Clean(r.Message)
	switch {
	case r.Level >= slog.LevelError:
		message = c.style.red(message)
	case r.Level >= slog.LevelWarn:
		message = c.style.yellow(message)
	}
	line := c.style.faint(r.Time.Format(time.TimeOnly)) + " " + message
	if c.buf.Len() > 1 { // the text of the attributes is more than a line break
		line += "  "
	}
	_, err := c.w.Write(append([]byte(line), c.buf.Bytes()...))
	return err
}

// WithAttrs implements slog.Handler.
func (c *console) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &console{c.w, c.style, c.attrs.WithAttrs(attrs), c.shared}
}

// WithGroup implements slog.Handler.
func (c *console) WithGroup(name string) slog.Handler {
	return &console{c.w, c.style, c.attrs.WithGroup(name), c.shared}
}

// Package mark keeps marks of processed tasks in Redis, under the names that the chat system's programs use: the key
// "processed:" and the idempotency key, with the job_id as its value.
//
// Redis is never needed: when it is away or slow, nobody waits for it, and for a second it is not asked.
package mark

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redrive/redrive/stream/project"
)

// The defaults and times of marks.
const (
	TTLDefault = 24 * time.Hour
	Prefix     = "processed:"
	askMax     = 50 * time.Millisecond // longest wait for an answer before records are taken
	pause      = time.Second           // time without asking after an error
	writeMax   = 5 * time.Second
	askAtOnce  = 1_000 // keys in one question
)

// Options are the settings of marks.
type Options struct {
	URL      string        // redis://[user[:password]@]host:port/db, or rediss:// for TLS
	Password string        // replaces that of the URL
	TTL      time.Duration // how long a mark lives; default TTLDefault
	Log      *slog.Logger  // default slog.Default
	Now      func() time.Time
}

// Redis keeps marks.
type Redis struct {
	client  *redis.Client
	ttl     time.Duration
	log     *slog.Logger
	now     func() time.Time
	rest    atomic.Int64 // until when it is not asked, in microseconds since 1970
	skipped atomic.Int64
}

// Open returns the marks of a server, which it does not connect to yet. The error never has a password.
func Open(o *Options) (*Redis, error) {
	settings, err := redis.ParseURL(o.URL)
	if err != nil {
		return nil, errors.New("marks: the address of Redis must be such as redis://redis-1:6379/0, or rediss:// with TLS")
	}
	settings.Password = cmp.Or(o.Password, settings.Password)
	settings.ContextTimeoutEnabled, settings.MaxRetries, settings.DialTimeout = true, -1, time.Second
	settings.DisableIdentity = true
	if settings.TLSConfig != nil {
		settings.TLSConfig.MinVersion = tls.VersionTLS12
	}
	r := &Redis{client: redis.NewClient(settings), ttl: cmp.Or(o.TTL, TTLDefault), log: o.Log, now: o.Now}
	if r.log == nil {
		r.log = slog.Default()
	}
	if r.now == nil {
		r.now = time.Now //nolint:forbidigo // the default clock
	}
	return r, nil
}

// Close ends the connections.
func (r *Redis) Close() error {
	if err := r.client.Close(); err != nil {
		return fmt.Errorf("marks: %w", err)
	}
	return nil
}

// Skipped returns how many keys were not looked up because Redis was slow or away.
func (r *Redis) Skipped() int64 { return r.skipped.Load() }

// Processed reports for each key whether it has a mark. When Redis does not answer within 50 ms, no key has one, and the keys are counted
// as skipped; so it returns no error.
func (r *Redis) Processed(ctx context.Context, keys []string) ([]bool, error) {
	found := make([]bool, len(keys))
	for from := 0; from < len(keys); from += askAtOnce {
		some := keys[from:min(from+askAtOnce, len(keys))]
		if r.now().UnixMicro() < r.rest.Load() || !r.ask(ctx, some, found[from:]) {
			r.skipped.Add(int64(len(keys) - from))
			break
		}
	}
	return found, nil
}

func (r *Redis) ask(ctx context.Context, keys []string, found []bool) bool {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = Prefix + key
	}
	asking, stop := context.WithTimeout(ctx, askMax)
	defer stop()
	values, err := r.client.MGet(asking, names...).Result()
	if err != nil {
		r.failed(ctx, err)
		return false
	}
	for i := range values {
		found[i] = values[i] != nil
	}
	return true
}

func (r *Redis) failed(ctx context.Context, err error) {
	r.rest.Store(r.now().Add(pause).UnixMicro())
	r.log.WarnContext(ctx, "marks in Redis are not looked up", "error", cleaned(err), "for", pause)
}

// cleaned returns the error without what the server says behind the first line.
func cleaned(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Mark implements project.Marker.
func (r *Redis) Mark(ctx context.Context, done []project.Done) error {
	writing, stop := context.WithTimeout(ctx, writeMax)
	defer stop()
	_, err := r.client.Pipelined(writing, func(p redis.Pipeliner) error {
		for i := range done {
			p.Set(writing, Prefix+done[i].Key, done[i].JobID, r.ttl)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("marks in Redis: %w", err)
	}
	return nil
}

// Done implements guard.Fast.
func (r *Redis) Done(ctx context.Context, key string) (bool, error) {
	n, err := r.client.Exists(ctx, Prefix+key).Result()
	if err != nil {
		return false, fmt.Errorf("marks in Redis: %w", err)
	}
	return n > 0, nil
}

// SetDone implements guard.Fast.
func (r *Redis) SetDone(ctx context.Context, key string) error {
	if err := r.client.Set(ctx, Prefix+key, "", r.ttl).Err(); err != nil {
		return fmt.Errorf("marks in Redis: %w", err)
	}
	return nil
}

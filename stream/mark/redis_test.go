//go:build unix

package mark_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redrive/redrive/guard"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/stream/mark"
	"github.com/redrive/redrive/stream/project"
)

// rig is a private Redis, a client that is not ours, and marks with a clock that stands.
func rig(t *testing.T) (server *servers.Redis, other *redis.Client, marks *mark.Redis) {
	t.Helper()
	server, err := servers.StartRedis(t.Context(), &servers.RedisOptions{})
	if errors.Is(err, servers.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	settings, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	other = redis.NewClient(settings)
	t.Cleanup(func() { _ = other.Close() })
	now := time.Now()
	marks, err = mark.Open(&mark.Options{URL: server.URL(), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = marks.Close() })
	return server, other, marks
}

// Marks have the names and the life that the chat system's programs use, so both see those of the other.
//
// proves: I1
func TestI1_MarksAreThoseOfTheChatSystem(t *testing.T) {
	t.Parallel()
	_, other, marks := rig(t)
	if err := other.Set(t.Context(), "processed:theirs", "j1", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if err := marks.Mark(t.Context(), []project.Done{{Key: "ours", JobID: "j2"}}); err != nil {
		t.Fatal(err)
	}
	keys := []string{"theirs", "ours", "nobody's"}
	for range 2_000 { // more than one question
		keys = append(keys, "nobody's")
	}
	found, err := marks.Processed(t.Context(), keys)
	if err != nil || !found[0] || !found[1] || found[2] || found[len(found)-1] || len(found) != len(keys) {
		t.Errorf("found %v … (%v), want the first two", found[:3], err)
	}
	value, life := other.Get(t.Context(), "processed:ours").Val(), other.TTL(t.Context(), "processed:ours").Val()
	if value != "j2" || life < 23*time.Hour || life > 24*time.Hour {
		t.Errorf("our mark is %q for %s, want j2 for a day", value, life)
	}
}

// Trap: a Redis that hangs, and does not refuse, hangs the intake with it. It is asked once, for 50 ms, and then left alone.
//
// part of: I1
func TestKafkaTrap18_RedisHangs(t *testing.T) {
	t.Parallel()
	server, _, marks := rig(t)
	if err := marks.Mark(t.Context(), []project.Done{{Key: "k", JobID: "j"}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 1_000 { // one of them waits; if all did, this would take 50 s
		if found, err := marks.Processed(t.Context(), []string{"k"}); err != nil || found[0] {
			t.Fatalf("found %v (%v), want that nothing is known and nothing is wrong", found, err)
		}
	}
	if n := marks.Skipped(); n != 1_000 {
		t.Errorf("%d keys were counted as skipped, want 1000", n)
	}
	if err := syscall.Kill(server.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

func sent(context.Context) (string, error) { return "sent", nil }

// Redis is the fast side of a guard, and a flush of it lets nothing run twice.
//
// part of: I2
func TestI2_GuardWithRedis(t *testing.T) {
	t.Parallel()
	_, other, marks := rig(t)
	g, err := guard.New(memory.New(memory.Options{}), &guard.Config{Fast: marks})
	if err != nil {
		t.Fatal(err)
	}
	run := func() error { _, err := guard.Do(t.Context(), g, "mail:1", sent); return err }
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if n := other.Exists(t.Context(), "processed:mail:1").Val(); n != 1 {
		t.Errorf("Redis has %d marks of the key, want one", n)
	}
	if err := other.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := run(); !errors.Is(err, guard.ErrProcessed) {
		t.Errorf("after the flush: got %v, want ErrProcessed", err)
	}
	if n := other.Exists(t.Context(), "processed:mail:1").Val(); n != 1 {
		t.Errorf("after the next call Redis has %d marks of the key, want one", n)
	}
}

// part of: X3
func TestX3_AddressOfRedis(t *testing.T) {
	t.Parallel()
	_, err := mark.Open(&mark.Options{URL: "http://:canary@r"})
	if text := fmt.Sprint(err); err == nil || text != "marks: the address of Redis must be such as redis://redis-1:6379/0, or rediss:// with TLS" {
		t.Errorf("got %q, want the form of an address and no password", text)
	}
}

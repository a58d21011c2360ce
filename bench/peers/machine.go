package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/redrive/redrive/bench/systems"
)

// describe returns a text about the machine that measures: its processors, memory, system and disk.
// The text does not contain the name of the machine.
func describe() string {
	words := []string{fmt.Sprintf("%d processors", runtime.NumCPU())}
	if model := lineOf("/proc/cpuinfo", "model name", ":"); model != "" {
		words[0] += " (" + model + ")"
	}
	if total := memory(); total > 0 {
		words = append(words, fmt.Sprintf("%d GiB of memory", (total+1<<29)>>30))
	}
	if name := strings.Trim(lineOf("/etc/os-release", "PRETTY_NAME", "="), `"`); name != "" {
		words = append(words, name)
	}
	words = append(words, runtime.Version())
	if p50, p99, err := flushes(); err == nil {
		words = append(words, fmt.Sprintf("a flush of 4 KiB appended to a file takes %.2f ms (p50), %.2f ms (p99)",
			milliseconds(p50), milliseconds(p99)))
	}
	return strings.Join(words, "; ")
}

// lineOf returns the value of a key in a file of lines, or "".
func lineOf(path, key, sep string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if k, value, ok := strings.Cut(line, sep); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// memory returns the machine's memory in bytes, or 0 if it is not known.
func memory() int64 {
	kib, err := strconv.ParseInt(strings.TrimSuffix(lineOf("/proc/meminfo", "MemTotal", ":"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// flushes measures the duration of an fsync on the disk of the databases.
func flushes() (p50, p99 time.Duration, err error) {
	f, err := os.CreateTemp("", "redrive-flush-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	const samples = 200
	var found []time.Duration
	for range samples {
		begin := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, 0, err
		}
		found = append(found, time.Since(begin))
	}
	slices.Sort(found)
	return at(found, 0.5), at(found, 0.99), nil
}

// postgresSettings fit PostgreSQL to the machine's memory. The settings that decide about
// durability keep their defaults.
func postgresSettings() map[string]string {
	buffers := min(2<<30, max(128<<20, memory()/8))
	return map[string]string{
		"shared_buffers":     fmt.Sprintf("%dMB", buffers>>20),
		"max_wal_size":       "8GB",
		"checkpoint_timeout": "15min",
		"fsync":              "on",
		"synchronous_commit": "on",
		"full_page_writes":   "on",
	}
}

// readPostgres reads the settings of the running PostgreSQL server.
func readPostgres(ctx context.Context, dsn string) (words string, err error) {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	var version string
	if err := c.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return "", err
	}
	names := []string{"max_connections", "autovacuum"}
	for name := range postgresSettings() {
		names = append(names, name)
	}
	slices.Sort(names)
	all := []string{"PostgreSQL " + version}
	for _, name := range names {
		var value string
		if err := c.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return "", err
		}
		all = append(all, name+" = "+value)
	}
	return strings.Join(all, ", "), nil
}

// readRedis reads the settings of the running Redis server.
func readRedis(ctx context.Context, address string) (words string, err error) {
	o, err := redis.ParseURL(address)
	if err != nil {
		return "", err
	}
	r := redis.NewClient(o)
	defer func() { err = errors.Join(err, r.Close()) }()
	info, err := r.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	version := ""
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			version = strings.TrimSpace(v)
		}
	}
	durability, err := systems.RedisDurability(ctx, r)
	return "Redis " + version + ", " + strings.ReplaceAll(durability, "=", " = ") + ", no snapshots", err
}

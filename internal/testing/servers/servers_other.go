//go:build !unix

package servers

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
)

// errSystem is the error of every function that would start a server.
func errSystem() error {
	return fmt.Errorf("private servers cannot be started on %s: %w", runtime.GOOS, ErrMissing)
}

// Postgres is a private cluster, which this system does not support.
type Postgres struct{}

// StartPostgres returns an error that is [ErrMissing].
func StartPostgres(context.Context, *PostgresOptions) (*Postgres, error) { return nil, errSystem() }

// Start returns an error.
func (*Postgres) Start(context.Context) error { return errSystem() }

// Stop returns an error.
func (*Postgres) Stop(Mode) error { return errSystem() }

// Restart returns an error.
func (*Postgres) Restart(context.Context, Mode) error { return errSystem() }

// Kill returns an error.
func (*Postgres) Kill() error { return errSystem() }

// Pause returns an error.
func (*Postgres) Pause() error { return errSystem() }

// Resume does nothing.
func (*Postgres) Resume() {}

// Standby returns an error.
func (*Postgres) Standby(context.Context, string) (*Postgres, error) { return nil, errSystem() }

// Promote returns an error.
func (*Postgres) Promote() error { return errSystem() }

// Close returns an error.
func (*Postgres) Close() error { return errSystem() }

// URL returns an address without a server.
func (*Postgres) URL() *url.URL { return postgresURL("", 0) }

// DSN returns an address without a server.
func (p *Postgres) DSN() string { return p.URL().String() }

// SocketDSN returns an address without a server.
func (p *Postgres) SocketDSN() string { return p.DSN() }

// Port returns 0.
func (*Postgres) Port() int { return 0 }

// Dir returns "".
func (*Postgres) Dir() string { return "" }

// PID returns 0.
func (*Postgres) PID() int { return 0 }

// Running returns false.
func (*Postgres) Running() bool { return false }

// Log returns "".
func (*Postgres) Log() string { return "" }

// FillDisk returns an error.
func (*Postgres) FillDisk() error { return errSystem() }

// FreeDisk returns an error.
func (*Postgres) FreeDisk() error { return errSystem() }

// Redis is a private Redis server, which this system does not support.
type Redis struct{}

// StartRedis returns an error that is [ErrMissing].
func StartRedis(context.Context, *RedisOptions) (*Redis, error) { return nil, errSystem() }

// URL returns an address at which no server listens.
func (*Redis) URL() string { return redisURL("", 0) }

// Close returns an error.
func (*Redis) Close() error { return errSystem() }

// Bouncer is a private PgBouncer, which this system does not support.
type Bouncer struct{}

// StartBouncer returns an error that is [ErrMissing].
func StartBouncer(context.Context, string, *BouncerOptions) (*Bouncer, error) {
	return nil, errSystem()
}

// DSN returns "".
func (*Bouncer) DSN() string { return "" }

// Kill does nothing.
func (*Bouncer) Kill() {}

// Ends returns 0.
func (*Bouncer) Ends() int { return 0 }

// Log returns "".
func (*Bouncer) Log() string { return "" }

// Close returns an error.
func (*Bouncer) Close() error { return errSystem() }

// Kafka is a private broker, which this system does not support.
type Kafka struct{}

// StartKafka returns an error that is [ErrMissing].
func StartKafka(context.Context, string, map[string]string) (*Kafka, error) { return nil, errSystem() }

// Start returns an error.
func (*Kafka) Start(context.Context) error { return errSystem() }

// Kill returns an error.
func (*Kafka) Kill() error { return errSystem() }

// Address returns an address without a server.
func (*Kafka) Address() string { return "" }

// Secure returns an address without a server.
func (*Kafka) Secure() (address, caFile string) { return "", "" }

// Close returns an error.
func (*Kafka) Close() error { return errSystem() }

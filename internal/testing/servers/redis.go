package servers

import (
	"net"
	"net/url"
	"strconv"
)

// RedisOptions are the options of a server. By default each write goes to an append-only file,
// which is synced once a second.
type RedisOptions struct {
	// AlwaysSync makes each write wait for the disk.
	AlwaysSync bool
}

// redisURL is the address of a private Redis server.
func redisURL(password string, port int) string {
	u := url.URL{
		Scheme: "redis",
		User:   url.UserPassword("", password),
		Host:   net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:   "/0",
	}
	return u.String()
}

// BouncerOptions are the options of a private PgBouncer.
type BouncerOptions struct {
	// Settings are settings for pgbouncer.ini. They override the settings of this package, which
	// are transaction mode, 20 connections to the server, and otherwise PgBouncer's defaults.
	Settings map[string]string
	// Keep starts PgBouncer again when it has ended, as a service manager does. Some versions crash
	// when clients cancel queries.
	Keep bool
}

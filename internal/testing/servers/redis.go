package servers

import (
	"net"
	"net/url"
	"strconv"
)

// RedisOptions say what a server is to be. The zero value keeps each write in
// an append-only file, which reaches the disk once a second.
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

// BouncerOptions say how PgBouncer is to be.
type BouncerOptions struct {
	// Settings go before those of the package: transaction mode, 20 connections
	// to the server, and PgBouncer's own defaults.
	Settings map[string]string
}

package servers

import (
	"net"
	"net/url"
	"strconv"
)

// PostgresOptions say what a server is to be. The zero value is a server that
// loses nothing it has confirmed, as users run it.
type PostgresOptions struct {
	// Settings are settings of postgresql.conf, which go before those of the
	// package: 300 connections, and PostgreSQL's own defaults.
	Settings map[string]string
	// NoSync sets fsync = off: faster, and worthless for measurements.
	NoSync bool
	// Disk is the size of a file system of the server's own, such as 160m, which
	// [Postgres.FillDisk] fills. It needs Linux and root. "" is none.
	Disk string
	// Bin is the directory of the programs; "" is that of [FindPostgres].
	Bin string
}

// Mode is how a server is stopped.
type Mode int

// The modes of [Postgres.Stop], named as those of pg_ctl.
const (
	Fast      Mode = iota // connections are cut, a checkpoint is written
	Immediate             // as a crash: the next start recovers
	Smart                 // waits until all clients have gone
)

// The role and the database of a private server. The role is a superuser.
const (
	postgresUser     = "redrive"
	postgresDatabase = "postgres"
)

// postgresURL is the DSN of a private server at a TCP port.
func postgresURL(password string, port int) *url.URL {
	return &url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresUser, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:     "/" + postgresDatabase,
		RawQuery: "sslmode=disable",
	}
}

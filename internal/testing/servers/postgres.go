package servers

import (
	"net"
	"net/url"
	"strconv"
)

// PostgresOptions are the options of a PostgreSQL server. With the zero value, the server loses no
// confirmed commit, like the servers of users.
type PostgresOptions struct {
	// Settings are settings for postgresql.conf. They override the settings of this package, which
	// are 300 connections and otherwise PostgreSQL's defaults.
	Settings map[string]string
	// NoSync sets fsync = off. The server is then faster, and of no use for measurements.
	NoSync bool
	// Disk is the size of a private file system for the server, such as 160m, which
	// [Postgres.FillDisk] fills. It needs Linux and root. "" means that the server has no private
	// file system.
	Disk string
	// Bin is the directory of the programs; "" means the directory that [FindPostgres] returns.
	Bin string
}

// Mode is how a server is stopped.
type Mode int

// The modes of [Postgres.Stop]. They have the same names as the modes of pg_ctl.
const (
	Fast      Mode = iota // the server cuts connections, writes a checkpoint and ends
	Immediate             // the server ends as in a crash, and recovers at its next start
	Smart                 // the server waits until all clients have disconnected, and then ends
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

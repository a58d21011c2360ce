package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// peer is one job library, opened on an empty database of its own. Every
// number is taken through this interface, so all peers are asked the same.
type peer interface {
	// Preload stores n jobs by the fastest way that the library offers. It is
	// never timed.
	Preload(ctx context.Context, n int) error

	// Enqueue stores one job and returns when it is committed as durably as
	// the setting promises. It is called from many goroutines at once.
	Enqueue(ctx context.Context) error

	// Start begins to run jobs in the background, until Stop.
	Start(ctx context.Context) error

	// Stop ends what Start began and waits for it. It is called once, and only
	// after a Start that succeeded.
	Stop(ctx context.Context) error

	// Unfinished counts the stored jobs that are not completed. It reads the
	// database, because what a library keeps in memory is not done yet.
	Unfinished(ctx context.Context) (int, error)

	// RowsLeft counts the rows that the library holds about jobs: unfinished
	// ones and its history.
	RowsLeft(ctx context.Context) (int, error)

	// Durability tells what the library's own connection is set to, read back
	// from the database.
	Durability(ctx context.Context) (string, error)

	Close() error
}

// load is what a peer works on.
type load struct {
	workers int          // jobs run at the same time
	payload string       // argument of each job
	handled func()       // the whole work of the handler; safe for concurrent use
	log     *slog.Logger // for errors of the library that reach no caller
}

// setting is one way to set a peer up, a line of the table.
type setting struct {
	peer string
	name string

	// modules are the Go modules whose versions belong beside the numbers.
	modules []string

	// open sets the peer up in an empty directory.
	open func(ctx context.Context, dir string, l load) (peer, error)
}

// settings lists everything that can be measured, in the order of the table.
func settings() []setting {
	return slices.Concat(
		redriveSettings(),
		riverSettings(),
		backliteSettings(),
	)
}

// choose keeps the settings of the peers, or of all of them, and with a name
// only those of that name.
func choose(all []setting, peers, name string) []setting {
	wanted := strings.Split(peers, ",")
	return slices.DeleteFunc(slices.Clone(all), func(s setting) bool {
		return peers != "all" && !slices.Contains(wanted, s.peer) || name != "all" && s.name != name
	})
}

//go:build !unix

package sqlite

import "time"

// turnstile does nothing here: writers of several processes wait for each other
// in SQLite's busy handler, fairly only in the long run.
type turnstile struct{}

func openTurnstile(string) (*turnstile, error) { return &turnstile{}, nil }

func (*turnstile) enter(time.Duration, <-chan struct{}) error { return nil }

func (*turnstile) leave()       {}
func (*turnstile) close() error { return nil }

//go:build !unix

package servers

import "context"

// PID returns 0.
func (*Redis) PID() int { return 0 }

// Kill does nothing.
func (*Redis) Kill() {}

// Start returns an error.
func (*Redis) Start(context.Context) error { return errSystem() }

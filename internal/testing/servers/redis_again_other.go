//go:build !unix

package servers

import "context"

// PID returns 0, because this system does not support private servers.
func (*Redis) PID() int { return 0 }

// Kill does nothing, because this system does not support private servers.
func (*Redis) Kill() {}

// Start returns an error, because this system does not support private servers.
func (*Redis) Start(context.Context) error { return errSystem() }

//go:build !linux

package proc

import (
	"io"
	"os/exec"
)

// Guard starts the commands of a worker. On this system, a command that runs when the worker
// is killed continues to run.
type Guard struct{}

// NewGuard returns a guard. The arguments are used on Linux only.
func NewGuard(...string) *Guard { return &Guard{} }

// Close does nothing on this system.
func (*Guard) Close() {}

func (*Guard) start(c *exec.Cmd) error { return c.Start() }

func (*Guard) ended(int) {}

// RunGuard reads its input to the end.
func RunGuard(in io.Reader) { _, _ = io.Copy(io.Discard, in) }

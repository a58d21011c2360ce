//go:build unix

package servers

import (
	"context"
	"path/filepath"
	"syscall"
)

// PID returns the server's process id.
func (r *Redis) PID() int { return r.daemon.pid }

// Kill kills the server with SIGKILL and waits until it is gone.
func (r *Redis) Kill() {
	r.daemon.signal(syscall.SIGKILL)
	<-r.daemon.ended
}

// Start starts a killed server again, with its port and data.
func (r *Redis) Start(ctx context.Context) error {
	path, err := find("redis-server", "redis-server")
	if err != nil {
		return err
	}
	d, err := r.home.start(ctx, &program{
		path: path, args: []string{filepath.Join(r.home.dir, "redis.conf")},
		death: syscall.SIGKILL, ready: "Ready to accept connections",
	})
	if err != nil {
		return err
	}
	r.daemon = d
	return nil
}

//go:build unix

package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"syscall"
)

// Redis is a private Redis server.
type Redis struct {
	home     *home
	daemon   *daemon
	port     int
	password string
}

// StartRedis starts a server. The error is [ErrMissing] where Redis is not installed.
func StartRedis(ctx context.Context, o *RedisOptions) (*Redis, error) {
	path, err := find("redis-server", "redis-server")
	if err != nil {
		return nil, err
	}
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	r := &Redis{home: h, password: rand.Text()}
	if err := r.start(ctx, path, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start a private Redis: %w", err), h.remove())
	}
	return r, nil
}

func (r *Redis) start(ctx context.Context, path string, o *RedisOptions) (err error) {
	if r.port, err = freePort(); err != nil {
		return err
	}
	sync := "everysec"
	if o.AlwaysSync {
		sync = "always"
	}
	// The settings are in a file, because other users can see the arguments of a process.
	config, err := r.home.write("redis.conf", fmt.Sprintf(
		"port %d\nbind 127.0.0.1\nrequirepass %s\ndir %s\ndaemonize no\nsave \"\"\nappendonly yes\nappendfsync %s\n",
		r.port, r.password, strconv.Quote(r.home.dir), sync))
	if err != nil {
		return err
	}
	r.daemon, err = r.home.start(ctx, &program{
		path: path, args: []string{config}, death: syscall.SIGKILL, ready: "Ready to accept connections",
	})
	return err
}

// URL returns the address with its password.
func (r *Redis) URL() string { return redisURL(r.password, r.port) }

// Close stops the server and removes its data.
func (r *Redis) Close() error {
	return errors.Join(r.daemon.stop(syscall.SIGKILL), r.home.remove())
}

// Command testservers starts private PostgreSQL and Redis servers, runs a command, and stops the
// servers afterwards:
//
//	testservers go test ./...
//
// The command gets their addresses in REDRIVE_TEST_POSTGRES and REDRIVE_TEST_REDIS. A variable that
// is set already is used as it is. A server that is not installed is reported and left out.
// testservers ends with the exit code of the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
)

// envRedis is the name of the environment variable with the address of the Redis server for
// tests, such as redis://:password@host:port/0.
const envRedis = "REDRIVE_TEST_REDIS"

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testservers:", err)
	}
	os.Exit(code)
}

// run runs the command and returns its exit code.
func run(command []string) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("the command is missing, as in: testservers go test PACKAGES")
	}
	// A signal is sent on to the command. When the command has ended, the servers are
	// stopped.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	stop, err := start(context.Background(), signals)
	if err == nil {
		code, err = runCommand(command, signals)
	}
	if err != nil {
		code = 1
	}
	if serr := stop(); serr != nil {
		code, err = max(code, 1), errors.Join(err, serr)
	}
	return code, err
}

// start starts each server whose environment variable is not set, and sets the variable. A
// signal interrupts it.
func start(ctx context.Context, signals chan os.Signal) (stop func() error, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case s := <-signals:
			cancel(fmt.Errorf("stopped by a signal: %v", s))
		case <-ctx.Done():
		}
	}()
	defer func() {
		cancel(nil)
		<-watched
		err = errors.Join(err, signalled(ctx))
	}()
	var running []func() error
	stop = func() (err error) {
		for _, f := range running {
			err = errors.Join(err, f())
		}
		return err
	}
	add := func(name, variable string, start func() (address string, close func() error, err error)) error {
		if os.Getenv(variable) != "" {
			fmt.Fprintf(os.Stderr, "== %s: using the server in %s\n", name, variable)
			return nil
		}
		address, closing, err := start()
		if errors.Is(err, servers.ErrMissing) {
			fmt.Fprintf(os.Stderr, "== NO SERVER: %v; to use an existing server, set %s\n", err, variable)
			return nil
		}
		if err != nil {
			return err
		}
		running = append(running, closing)
		fmt.Fprintf(os.Stderr, "== %s: a private server was started\n", name)
		return os.Setenv(variable, address)
	}
	err = add("PostgreSQL", pgtest.EnvDSN, func() (string, func() error, error) {
		p, err := servers.StartPostgres(ctx, pgtest.Options())
		if err != nil {
			return "", nil, err
		}
		return p.DSN(), p.Close, nil
	})
	if err == nil {
		err = add("Redis", envRedis, func() (string, func() error, error) {
			r, err := servers.StartRedis(ctx, &servers.RedisOptions{})
			if err != nil {
				return "", nil, err
			}
			return r.URL(), r.Close, nil
		})
	}
	return stop, err
}

// signalled returns an error that names the signal which ended the context, or nil if no
// signal did.
func signalled(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// runCommand runs the command and waits until it has ended. It sends signals on to the
// process group of the command.
func runCommand(command []string, signals <-chan os.Signal) (code int, err error) {
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...) //nolint:gosec // the command is the argument of this program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	leadGroup(cmd)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			signalGroup(cmd, s)
		case err := <-ended:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				return max(exit.ExitCode(), 1), nil // ExitCode returns -1 if a signal ended the command
			}
			return 0, err
		}
	}
}

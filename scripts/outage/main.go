// Command outage starts a server in the hour after an outage, to try the pages on it:
//
//	outage [-addr 127.0.0.1:0]
//
// It prints the address of the pages. Its database is a temporary file, which is removed when the command
// ends by Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redrive/redrive/internal/testing/outage"
	"github.com/redrive/redrive/server"
)

// runTime is how long a job runs, so that a redrive can be watched.
const runTime = 200 * time.Millisecond

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address of the server, on this machine")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *addr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "outage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) (err error) {
	folder, err := os.MkdirTemp("", "redrive-outage-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	client, st, err := outage.Play(ctx, filepath.Join(folder, "jobs.db"), runTime)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	h, err := server.New(client, server.Options{Environment: "production"})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	fmt.Printf("http://%s/ui/\n", l.Addr())
	err = client.Run(ctx) // until the signal
	h.Stop()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	err = errors.Join(err, web.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

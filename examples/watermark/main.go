// Command watermark makes copies of a picture or a clip, one for each recipient of a campaign, with
// FFmpeg. A campaign whose copies fail in part can be mended by a click. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const usage = `watermark serve   serves the pages, and runs a worker in a process of its own
watermark work    runs a worker only
watermark play    plays a campaign by itself, 60 times as fast as in earnest
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		log.Fatal(err) //nolint:gocritic // stop would only release a signal handler
	}
}

// options are what the flags say.
type options struct {
	settings
	addr   string
	fast   *fast // the clock, for the environment of workers
	child  bool
	errors io.Writer // of workers
}

// run is the command.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("name a command:\n%s", strings.TrimSpace(usage))
	}
	factor := 1
	if args[0] == "play" {
		factor = 60
	}
	var o options
	flags := flag.NewFlagSet("watermark "+args[0], flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "folder for the database and the files (default: watermark in the folder for temporary files; play: a new one)")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:7730", "address of the pages")
	flags.IntVar(&factor, "faster", factor, "how many times faster time passes, for waits and leases; 1 is real time")
	flags.StringVar(&o.ffmpeg, "ffmpeg", "ffmpeg", "the program FFmpeg")
	flags.StringVar(&o.ffprobe, "ffprobe", "ffprobe", "the program ffprobe")
	flags.StringVar(&o.stamp, "stamp", "", "the program that writes invisible marks (default: the script stamp in the folder)")
	flags.IntVar(&o.workers, "workers", 2, "jobs that run at a time")
	flags.IntVar(&o.smtp, "smtp", 0, "port of a mail server on this machine; serve and play have their own")
	flags.BoolVar(&o.child, "child", false, "stop when standard input ends, as a worker of serve does")
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: the command takes flags only", flags.Arg(0))
	}
	var err error
	if o.fast, err = newFast(factor, os.Getenv); err != nil {
		return err
	}
	o.clock = o.fast
	o.errors = log
	o.log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if args[0] == "play" {
		return playAll(ctx, &o, out)
	}
	if o.dir == "" {
		o.dir = filepath.Join(os.TempDir(), "watermark")
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	switch args[0] {
	case "serve":
		return serve(ctx, &o, out)
	case "work":
		return work(ctx, &o)
	}
	return fmt.Errorf("%q is no command of watermark:\n%s", args[0], strings.TrimSpace(usage))
}

// work runs jobs until the context ends.
func work(ctx context.Context, o *options) error {
	if o.child {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		go func() { io.Copy(io.Discard, os.Stdin); stop() }() //nolint:errcheck // its end is all that matters
	}
	a, err := open(ctx, o.settings)
	if err != nil {
		return err
	}
	a.handle()
	if a.smtp > 0 {
		if err := a.deliver(); err != nil {
			return errors.Join(err, a.Close())
		}
	}
	return errors.Join(a.client.Run(ctx), a.Close())
}

// serve serves the pages, and keeps a worker running.
func serve(ctx context.Context, o *options, out io.Writer) (err error) {
	a, err := open(ctx, o.settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	address, closing, err := a.serve(ctx, o.addr)
	if err != nil {
		return err
	}
	defer closing()
	o.smtp = a.smtp
	if err := a.seed(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "The pages: %s (ann@example.com, password ann). The files: %s\n", address, o.dir)
	for ctx.Err() == nil {
		w, err := o.start(ctx)
		if err != nil {
			return err
		}
		if err := w.wait(); ctx.Err() == nil {
			o.log.Warn("the worker has ended; another one is started", "error", err)
			sleep(ctx, time.Second)
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// serve serves the pages until the returned function is called.
func (a *app) serve(ctx context.Context, addr string) (address string, closing func(), err error) {
	s, err := newSite(ctx, a)
	if err != nil {
		return "", nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, err
	}
	mails, port, err := listen(ctx)
	if err != nil {
		return "", nil, errors.Join(err, l.Close())
	}
	a.base, a.smtp = "http://"+l.Addr().String(), port
	if err := a.announce(ctx, a.base); err != nil {
		return "", nil, errors.Join(err, l.Close(), mails.Close())
	}
	stopMails := a.box.serve(mails)
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelWarn)}
	keeping, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { server.Serve(l) }) //nolint:errcheck // ends by Close
	running.Go(func() {
		if err := a.client.Keep(keeping); err != nil {
			a.log.Error("the upkeep of the store has ended", "error", err)
		}
	})
	return a.base, func() {
		stop()
		s.close()
		server.Close() //nolint:errcheck // requests in progress are over
		running.Wait()
		stopMails()
	}, nil
}

// worker is a process that runs jobs.
type worker struct {
	cmd   *exec.Cmd
	alive io.Closer // the worker stops when it is closed
}

// start starts a worker with the same settings and the same clock.
func (o *options) start(ctx context.Context) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "work", "-child", "-dir", o.dir, "-ffmpeg", o.ffmpeg, "-ffprobe", o.ffprobe, "-stamp", o.stamp, fmt.Sprint("-workers=", o.workers), fmt.Sprint("-smtp=", o.smtp))
	cmd.Env, cmd.Stderr = o.fast.environ(), o.errors
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel = func() error { // it hands its jobs back
		alive.Close()
		return nil
	}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &worker{cmd, alive}, nil
}

// wait waits for the end of the worker.
func (w *worker) wait() error { return w.cmd.Wait() }

// stop asks the worker to end, and waits.
func (w *worker) stop() error {
	w.alive.Close()
	return w.wait()
}

// kill ends the worker as the kernel does when memory runs out, and waits.
func (w *worker) kill() error {
	err := w.cmd.Process.Kill()
	w.wait() //nolint:errcheck // it says that it was killed
	return err
}

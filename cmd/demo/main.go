// Command demo compiles the demo of redrive and runs it: go run ./cmd/demo. It needs only the standard
// library, so it starts at once and says what it does while the rest is compiled.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const program = "github.com/redrive/redrive/cmd/demo/program"

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		code = 1
	}
	os.Exit(code)
}

// run compiles the demo into a temporary folder, runs it and returns its exit code.
func run(args []string) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "redrive-demo-program-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	exe := filepath.Join(dir, "redrive-demo")
	if err := compile(ctx, exe, os.Stderr); err != nil {
		return 0, err
	}
	demo := exec.Command(exe, args...) //nolint:gosec,noctx // the arguments of the caller are meant for the demo; so are signals of the terminal, after which it ends by itself
	demo.Stdin, demo.Stdout, demo.Stderr = os.Stdin, os.Stdout, os.Stderr
	demo.Env = append(os.Environ(), "REDRIVE_DEMO_COMMAND=go run ./cmd/redrive")
	err = demo.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// compile builds the demo and says on w how far it is.
func compile(ctx context.Context, exe string, w io.Writer) error {
	began := time.Now()
	fmt.Fprintln(w, "Compiling the demo. The first time, Go downloads its modules and compiles SQLite: about half a minute.")
	build := exec.CommandContext(ctx, "go", append(append([]string{"build", "-v", "-o", exe}, fast()...), program)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOGC=400") // no C compiler, and fewer collections in the compiler
	said, err := build.StderrPipe()
	if err != nil {
		return err
	}
	if err := build.Start(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	p := &progress{w: w, terminal: isTerminal(w), began: began}
	over := p.show()
	p.read(said)
	err = build.Wait()
	over()
	if err != nil {
		return fmt.Errorf("go build %s: %w\n%s", program, err, p.log.Bytes())
	}
	fmt.Fprintf(w, "Compiled in %.0f s.\n\n", time.Since(began).Seconds())
	return nil
}

// fast returns flags with which what the demo waits for most compiles in half of the time: SQLite, which was translated
// from C, and the packages around it are not optimized and carry no data for debuggers. The packages that this program
// needs, too, are compiled as usual, because they are compiled already.
func fast() []string {
	flags := []string{"-buildvcs=false", "-ldflags=-s -w"}
	for _, packages := range []string{"modernc.org/...", "zombiezen.com/...", "github.com/...", "golang.org/...", "net/...", "crypto/..."} {
		flags = append(flags, "-gcflags="+packages+"=-N -l -dwarf=false")
	}
	return flags
}

// isTerminal says whether w is a terminal, or another character device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progress shows what go build -v says about its work: downloaded modules and compiled packages.
type progress struct {
	w        io.Writer
	terminal bool
	began    time.Time

	mu                  sync.Mutex
	downloads, packages int
	log                 bytes.Buffer
}

func (p *progress) read(said io.Reader) {
	for lines := bufio.NewScanner(said); lines.Scan(); {
		p.mu.Lock()
		if strings.HasPrefix(lines.Text(), "go: downloading ") {
			p.downloads++
		} else {
			p.packages++
		}
		fmt.Fprintln(&p.log, lines.Text())
		p.mu.Unlock()
	}
}

// line returns the status of the build.
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%3.0f s  %d modules downloaded, %d packages compiled", time.Since(p.began).Seconds(), p.downloads, p.packages)
}

// show writes the status each second: over the last one on a terminal, and as a line every ten seconds
// elsewhere. The returned function ends it.
func (p *progress) show() (over func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				if p.terminal {
					fmt.Fprint(p.w, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			switch {
			case p.terminal:
				fmt.Fprint(p.w, "\r\x1b[K"+p.line())
			case n%10 == 0:
				fmt.Fprintln(p.w, p.line())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

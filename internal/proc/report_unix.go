//go:build unix

package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ReportFD is the number of the file descriptor to which a program writes reports; 0 means that
// programs of this system have none.
const ReportFD = 3

// Sizes of reports.
const (
	reportBuffer = 16 << 10 // bytes of one read
	// reportRest is how much is read when the program has ended. It is the largest size of a pipe that
	// a program may ask for on Linux.
	reportRest = 1 << 20
)

// reportDelay is how long a program runs before its reports are read. A program that ends sooner costs no
// goroutine and no entry in the runtime's poller.
const reportDelay = 50 * time.Millisecond

// reports passes on what a program writes to the descriptor ReportFD.
type reports struct {
	into  io.Writer
	r     int // the end of the pipe for reading
	w     *os.File
	timer *time.Timer
	begun chan struct{} // closed when file is set
	done  chan struct{} // closed when the method copy has ended
	// These fields are set by the method copy. Read file only after begun is closed, and ended only
	// after done is closed.
	file  *os.File // the file of r
	ended bool     // whether the pipe was read to its end
}

// openReports gives the command a descriptor for reports, if the Spec wants them.
func (s Spec) openReports(cmd *exec.Cmd) (*reports, error) {
	if s.Report == nil {
		return nil, nil
	}
	ends, err := closedOnExecPipe()
	if err != nil {
		return nil, fmt.Errorf("the pipe for reports: %w", os.NewSyscallError("pipe", err))
	}
	w := os.NewFile(uintptr(ends[1]), "reports")
	// The end for reading must not block. A new pipe has no other flags that could be lost.
	if _, err := unix.FcntlInt(uintptr(ends[0]), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		w.Close()
		_ = syscall.Close(ends[0])
		return nil, fmt.Errorf("the pipe for reports: %w", os.NewSyscallError("fcntl", err))
	}
	cmd.ExtraFiles = []*os.File{w}
	return &reports{into: s.Report, r: ends[0], w: w, begun: make(chan struct{}), done: make(chan struct{})}, nil
}

// started must be called after the start of the command, also if the start failed.
func (p *reports) started() {
	if p == nil {
		return
	}
	p.w.Close()
	p.timer = time.AfterFunc(reportDelay, p.copy)
}

// reportBuffers holds buffers for reads.
var reportBuffers = sync.Pool{New: func() any { return new([reportBuffer]byte) }}

// copy passes reports on until the end of the pipe, or until close ends its read.
func (p *reports) copy() {
	defer close(p.done)
	p.file = os.NewFile(uintptr(p.r), "reports")
	close(p.begun)
	b := reportBuffers.Get().(*[reportBuffer]byte)
	defer reportBuffers.Put(b)
	for {
		n, err := p.file.Read(b[:])
		if n > 0 {
			_, _ = p.into.Write(b[:n])
		}
		if err != nil {
			p.ended = errors.Is(err, io.EOF)
			return
		}
	}
}

// close must be called when the process group of the command is gone. It passes on what the pipe
// still contains. It does not wait for a process that has left the group and keeps the pipe open.
func (p *reports) close() {
	if p == nil {
		return
	}
	if p.timer.Stop() {
		p.rest()
		_ = syscall.Close(p.r)
		return
	}
	<-p.begun
	defer p.file.Close()
	select {
	case <-p.done:
	default:
		_ = p.file.SetReadDeadline(time.Unix(1, 0)) // in the past: it ends a read that waits
		<-p.done
	}
	if !p.ended {
		p.rest()
	}
}

// rest passes on what the pipe contains, without waiting for more.
func (p *reports) rest() {
	b := reportBuffers.Get().(*[reportBuffer]byte)
	defer reportBuffers.Put(b)
	for left := reportRest; left > 0; {
		n, err := syscall.Read(p.r, b[:])
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || n <= 0:
			return
		default:
			_, _ = p.into.Write(b[:n])
			left -= n
		}
	}
}

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

// reports passes on what a program writes to the descriptor ReportFD.
type reports struct {
	into io.Writer
	r, w *os.File
	done chan struct{} // closed when the method copy has ended
	// ended says that the pipe was read to its end. Read this field only after the channel "done"
	// is closed.
	ended bool
}

// openReports gives the command a descriptor for reports, if the Spec wants them.
func (s Spec) openReports(cmd *exec.Cmd) (*reports, error) {
	if s.Report == nil {
		return nil, nil
	}
	r, w, err := reportPipe()
	if err != nil {
		return nil, fmt.Errorf("the pipe for reports: %w", err)
	}
	cmd.ExtraFiles = []*os.File{w}
	return &reports{into: s.Report, r: r, w: w, done: make(chan struct{})}, nil
}

// reportPipe returns a pipe whose end for reading can be waited for. The end for writing belongs to the
// command alone, so the runtime need not know it.
func reportPipe() (r, w *os.File, err error) {
	ends, err := closedOnExecPipe()
	if err == nil {
		err = syscall.SetNonblock(ends[0], true)
	}
	if err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	return os.NewFile(uintptr(ends[0]), "reports"), os.NewFile(uintptr(ends[1]), "reports"), nil
}

// started must be called after the start of the command, also if the start failed.
func (p *reports) started() {
	if p == nil {
		return
	}
	p.w.Close()
	go func() {
		defer close(p.done)
		p.copy()
	}()
}

// reportBuffers holds buffers for reads.
var reportBuffers = sync.Pool{New: func() any { return new([reportBuffer]byte) }}

// copy passes reports on until the end of the pipe, or until close ends its read.
func (p *reports) copy() {
	b := reportBuffers.Get().(*[reportBuffer]byte)
	defer reportBuffers.Put(b)
	for {
		n, err := p.r.Read(b[:])
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
	defer p.r.Close()
	select {
	case <-p.done:
	default:
		_ = p.r.SetReadDeadline(time.Unix(1, 0)) // in the past: it ends a read that waits
		<-p.done
	}
	if !p.ended {
		p.rest()
	}
}

// rest passes on what the pipe contains, without waiting for more.
func (p *reports) rest() {
	raw, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	b := reportBuffers.Get().(*[reportBuffer]byte)
	defer reportBuffers.Put(b)
	_ = raw.Control(func(fd uintptr) {
		for left := reportRest; left > 0; {
			n, err := syscall.Read(int(fd), b[:])
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil || n <= 0:
				return
			default:
				_, _ = p.into.Write(b[:n])
				left -= n
			}
		}
	})
}

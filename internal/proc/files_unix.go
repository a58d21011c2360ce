//go:build unix && !linux

package proc

import "syscall"

// closedOnExecPipe returns the two ends of a pipe that no other program inherits.
func closedOnExecPipe() (ends [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err = syscall.Pipe(ends[:]); err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	return ends, err
}

package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile returns a file that exists only in memory. If the system has no such files, the error
// is errors.ErrUnsupported.
func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return nil, errors.ErrUnsupported
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// closedOnExecPipe returns the two ends of a pipe that no other program inherits. It does not take
// syscall.ForkLock: while programs start, this lock is held nearly all the time, and a program that waits for
// it also makes the starts wait for each other.
func closedOnExecPipe() (ends [2]int, err error) {
	err = unix.Pipe2(ends[:], unix.O_CLOEXEC)
	return ends, err
}

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

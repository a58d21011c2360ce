//go:build !windows

package failure

import "syscall"

// The system's own numbers are those of package syscall.
const (
	systemRefused  = ^syscall.Errno(0)
	systemTimedOut = ^syscall.Errno(0) - 1
)

func systemName(syscall.Errno) string { return "" }

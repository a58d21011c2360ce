package failure

import "syscall"

// The numbers that Windows and Winsock return; those of package syscall are
// made up for programs that compare with them.
const (
	systemRefused  = syscall.Errno(10061)
	systemTimedOut = syscall.Errno(10060)
)

// systemName is the name that POSIX has for an error of Windows. For numbers in texts, package classify has a table of its own; a test of it
// compares them.
func systemName(errno syscall.Errno) string {
	switch errno {
	case 2, 3, 67: // file, path, network name
		return "ENOENT"
	case 4, 10024: // open files, sockets
		return "EMFILE"
	case 5, 10013:
		return "EACCES"
	case 6:
		return "EBADF"
	case 8, 14, 1450, 1455: // the last two: system resources, paging file
		return "ENOMEM"
	case 17:
		return "EXDEV"
	case 19:
		return "EROFS"
	case 32, 33, 170: // shared by another process, locked, in use
		return "EBUSY"
	case 39, 112:
		return "ENOSPC"
	case 64, 10054: // the network name is gone: the connection is
		return "ECONNRESET"
	case 80, 183:
		return "EEXIST"
	case 109, 232, 233:
		return "EPIPE"
	case 121, 1460, 10060:
		return "ETIMEDOUT"
	case 145:
		return "ENOTEMPTY"
	case 193:
		return "ENOEXEC"
	case 206:
		return "ENAMETOOLONG"
	case 995:
		return "ECANCELED"
	case 1225, 10061:
		return "ECONNREFUSED"
	case 1231, 10051:
		return "ENETUNREACH"
	case 53, 1232, 10065: // the first: a network path, whose server may only be down
		return "EHOSTUNREACH"
	case 1236, 10053:
		return "ECONNABORTED"
	case 10004:
		return "EINTR"
	case 10048:
		return "EADDRINUSE"
	case 10049:
		return "EADDRNOTAVAIL"
	case 10050:
		return "ENETDOWN"
	case 10052:
		return "ENETRESET"
	case 10055:
		return "ENOBUFS"
	case 10057:
		return "ENOTCONN"
	case 10058:
		return "ESHUTDOWN"
	}
	return ""
}

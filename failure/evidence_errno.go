package failure

import "syscall"

// readErrno takes an error of the operating system. ECONNREFUSED says by itself
// that nothing was sent.
func (e *Evidence) readErrno(errno syscall.Errno) {
	switch errno {
	case 0:
		return
	case syscall.ECONNREFUSED, systemRefused:
		e.Sent = NotSent
	case syscall.ETIMEDOUT, systemTimedOut:
		e.Timeout = true
	default:
	}
	if e.Errno == "" {
		e.Errno = errnoName(errno)
	}
}

// errnoName is the name that POSIX has for an error of the operating system; ""
// for one that tells a policy nothing.
func errnoName(errno syscall.Errno) string {
	if name := systemName(errno); name != "" {
		return name
	}
	switch errno {
	case syscall.E2BIG:
		return "E2BIG"
	case syscall.EACCES:
		return "EACCES"
	case syscall.EADDRINUSE:
		return "EADDRINUSE"
	case syscall.EADDRNOTAVAIL:
		return "EADDRNOTAVAIL"
	case syscall.EAGAIN:
		return "EAGAIN"
	case syscall.EBADF:
		return "EBADF"
	case syscall.EBUSY:
		return "EBUSY"
	case syscall.ECANCELED:
		return "ECANCELED"
	case syscall.ECONNABORTED:
		return "ECONNABORTED"
	case syscall.ECONNREFUSED:
		return "ECONNREFUSED"
	case syscall.ECONNRESET:
		return "ECONNRESET"
	case syscall.EDEADLK:
		return "EDEADLK"
	case syscall.EDESTADDRREQ:
		return "EDESTADDRREQ"
	case syscall.EDQUOT:
		return "EDQUOT"
	case syscall.EEXIST:
		return "EEXIST"
	case syscall.EFAULT:
		return "EFAULT"
	case syscall.EFBIG:
		return "EFBIG"
	case syscall.EHOSTDOWN:
		return "EHOSTDOWN"
	case syscall.EHOSTUNREACH:
		return "EHOSTUNREACH"
	case syscall.EINPROGRESS:
		return "EINPROGRESS"
	case syscall.EINTR:
		return "EINTR"
	case syscall.EINVAL:
		return "EINVAL"
	case syscall.EIO:
		return "EIO"
	case syscall.EISDIR:
		return "EISDIR"
	case syscall.ELOOP:
		return "ELOOP"
	case syscall.EMFILE:
		return "EMFILE"
	case syscall.EMLINK:
		return "EMLINK"
	case syscall.EMSGSIZE:
		return "EMSGSIZE"
	case syscall.ENAMETOOLONG:
		return "ENAMETOOLONG"
	case syscall.ENETDOWN:
		return "ENETDOWN"
	case syscall.ENETRESET:
		return "ENETRESET"
	case syscall.ENETUNREACH:
		return "ENETUNREACH"
	case syscall.ENFILE:
		return "ENFILE"
	case syscall.ENOBUFS:
		return "ENOBUFS"
	case syscall.ENODEV:
		return "ENODEV"
	case syscall.ENOENT:
		return "ENOENT"
	case syscall.ENOEXEC:
		return "ENOEXEC"
	case syscall.ENOLCK:
		return "ENOLCK"
	case syscall.ENOMEM:
		return "ENOMEM"
	case syscall.ENOSPC:
		return "ENOSPC"
	case syscall.ENOSYS:
		return "ENOSYS"
	case syscall.ENOTCONN:
		return "ENOTCONN"
	case syscall.ENOTDIR:
		return "ENOTDIR"
	case syscall.ENOTEMPTY:
		return "ENOTEMPTY"
	case syscall.ENOTSOCK:
		return "ENOTSOCK"
	case syscall.ENOTSUP:
		return "ENOTSUP"
	case syscall.ENXIO:
		return "ENXIO"
	case syscall.EOVERFLOW:
		return "EOVERFLOW"
	case syscall.EPERM:
		return "EPERM"
	case syscall.EPIPE:
		return "EPIPE"
	case syscall.EPROTO:
		return "EPROTO"
	case syscall.EPROTONOSUPPORT:
		return "EPROTONOSUPPORT"
	case syscall.ERANGE:
		return "ERANGE"
	case syscall.EROFS:
		return "EROFS"
	case syscall.ESHUTDOWN:
		return "ESHUTDOWN"
	case syscall.ESPIPE:
		return "ESPIPE"
	case syscall.ESRCH:
		return "ESRCH"
	case syscall.ESTALE:
		return "ESTALE"
	case syscall.ETIMEDOUT:
		return "ETIMEDOUT"
	case syscall.ETXTBSY:
		return "ETXTBSY"
	case syscall.EXDEV:
		return "EXDEV"
	default:
		return ""
	}
}

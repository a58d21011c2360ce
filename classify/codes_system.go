package classify

import "github.com/redrive/redrive/failure"

// errnoClass is a number of Linux, with the name that phrases and codes know.
type errnoClass struct {
	number int
	name   string
	class  failure.Class
}

// errnoClasses are the errors of the operating system: by name on every system, by
// number as Linux counts.
var errnoClasses = []errnoClass{
	{1, "EPERM", failure.PermissionError}, {2, "ENOENT", failure.NotFound}, {3, "ESRCH", failure.NotFound}, {4, "EINTR", failure.TemporaryServiceError},
	{5, "EIO", failure.TemporaryServiceError}, {6, "ENXIO", failure.NotFound}, {7, "E2BIG", failure.InputExceedsLimits}, {8, "ENOEXEC", failure.InvalidInput},
	{9, "EBADF", failure.ValidationError}, {10, "ECHILD", failure.UnknownError}, {11, "EAGAIN", failure.ResourceConstraint}, {12, "ENOMEM", failure.ResourceConstraint},
	{13, "EACCES", failure.PermissionError}, {14, "EFAULT", failure.UnknownError}, {16, "EBUSY", failure.ResourceConstraint}, {17, "EEXIST", failure.BusinessLogicError},
	{18, "EXDEV", failure.InvalidInput}, {19, "ENODEV", failure.NotFound}, {20, "ENOTDIR", failure.InvalidInput}, {21, "EISDIR", failure.InvalidInput},
	{22, "EINVAL", failure.InvalidInput}, {23, "ENFILE", failure.ResourceConstraint}, {24, "EMFILE", failure.ResourceConstraint}, {25, "ENOTTY", failure.InvalidInput},
	{26, "ETXTBSY", failure.ResourceConstraint}, {27, "EFBIG", failure.InputExceedsLimits}, {28, "ENOSPC", failure.ResourceConstraint}, {29, "ESPIPE", failure.InvalidInput},
	{30, "EROFS", failure.PermissionError}, {31, "EMLINK", failure.InputExceedsLimits}, {32, "EPIPE", failure.NetworkTimeout}, {33, "EDOM", failure.InvalidInput},
	{34, "ERANGE", failure.InvalidInput}, {35, "EDEADLK", failure.TemporaryServiceError}, {36, "ENAMETOOLONG", failure.InputExceedsLimits},
	{37, "ENOLCK", failure.ResourceConstraint}, {38, "ENOSYS", failure.ValidationError}, {39, "ENOTEMPTY", failure.BusinessLogicError}, {40, "ELOOP", failure.InvalidInput},
	{61, "ENODATA", failure.NotFound}, {62, "ETIME", failure.NetworkTimeout}, {71, "EPROTO", failure.NetworkTimeout}, {74, "EBADMSG", failure.InvalidInput},
	{75, "EOVERFLOW", failure.InvalidInput}, {84, "EILSEQ", failure.InvalidInput}, {87, "EUSERS", failure.ResourceConstraint}, {88, "ENOTSOCK", failure.InvalidInput},
	{90, "EMSGSIZE", failure.InputExceedsLimits}, {93, "EPROTONOSUPPORT", failure.InvalidInput}, {95, "EOPNOTSUPP", failure.InvalidInput},
	{97, "EAFNOSUPPORT", failure.InvalidInput}, {98, "EADDRINUSE", failure.ResourceConstraint}, {99, "EADDRNOTAVAIL", failure.ResourceConstraint},
	{100, "ENETDOWN", failure.NetworkTimeout}, {101, "ENETUNREACH", failure.NetworkTimeout}, {102, "ENETRESET", failure.NetworkTimeout},
	{103, "ECONNABORTED", failure.NetworkTimeout}, {104, "ECONNRESET", failure.NetworkTimeout}, {105, "ENOBUFS", failure.ResourceConstraint},
	{106, "EISCONN", failure.NetworkTimeout}, {107, "ENOTCONN", failure.NetworkTimeout}, {108, "ESHUTDOWN", failure.NetworkTimeout},
	{110, "ETIMEDOUT", failure.NetworkTimeout}, {111, "ECONNREFUSED", failure.TemporaryServiceError}, {112, "EHOSTDOWN", failure.NetworkTimeout},
	{113, "EHOSTUNREACH", failure.NetworkTimeout}, {114, "EALREADY", failure.TemporaryServiceError}, {115, "EINPROGRESS", failure.NetworkTimeout},
	{116, "ESTALE", failure.TemporaryServiceError}, {121, "EREMOTEIO", failure.TemporaryServiceError}, {122, "EDQUOT", failure.ResourceConstraint},
	{125, "ECANCELED", failure.TemporaryServiceError}, {126, "ENOKEY", failure.AuthenticationFailure}, {127, "EKEYEXPIRED", failure.AuthenticationFailure},
	{128, "EKEYREVOKED", failure.AuthenticationFailure}, {129, "EKEYREJECTED", failure.AuthenticationFailure},
	{-1, "EWOULDBLOCK", failure.ResourceConstraint}, {-1, "ENOTFOUND", failure.TemporaryServiceError}, {-1, "EAI_AGAIN", failure.TemporaryServiceError},
	{-1, "ESOCKETTIMEDOUT", failure.NetworkTimeout}, {-1, "ENOTSUP", failure.InvalidInput}, {-1, "EDEADLOCK", failure.TemporaryServiceError},
	{-1, "EAI_NONAME", failure.TemporaryServiceError}, {-1, "EAI_FAIL", failure.TemporaryServiceError}, {-1, "EAI_NODATA", failure.TemporaryServiceError},
	{-1, "EAUTH", failure.AuthenticationFailure}, {-1, "ECONNECTION", failure.NetworkTimeout}, {-1, "EENVELOPE", failure.InvalidInput}, {-1, "EMESSAGE", failure.UnknownError},
	{-1, "ESOCKET", failure.NetworkTimeout}, {-1, "ECONNCLOSED", failure.NetworkTimeout}, {-1, "ETIMEOUT", failure.NetworkTimeout}, {-1, "EREQUEST", failure.ValidationError},
	{-1, "ELOGIN", failure.AuthenticationFailure}, {-1, "EABORT", failure.NetworkTimeout}, {-1, "EDNS", failure.TemporaryServiceError}, {-1, "ETLS", failure.NetworkTimeout},
}

// winErrors are those of Windows, where they mean what an errno means.
var winErrors = map[int64]string{
	2: "ENOENT", 3: "ENOENT", 4: "EMFILE", 5: "EACCES", 6: "EBADF", 8: "ENOMEM", 14: "ENOMEM", 19: "EROFS", 32: "EBUSY", 33: "EBUSY",
	39: "ENOSPC", 53: "EHOSTUNREACH", 59: "ENETDOWN", 64: "ECONNRESET", 67: "ENOENT", 80: "EEXIST", 87: "EINVAL", 109: "EPIPE",
	110: "ENOENT", 112: "ENOSPC", 121: "ETIMEDOUT", 123: "EINVAL", 145: "ENOTEMPTY", 161: "EINVAL", 170: "EBUSY", 183: "EEXIST",
	193: "ENOEXEC", 206: "ENAMETOOLONG", 223: "EFBIG", 232: "EPIPE", 258: "ETIMEDOUT", 267: "ENOTDIR", 995: "ECANCELED", 1225: "ECONNREFUSED",
	1229: "ENOTCONN", 1231: "ENETUNREACH", 1232: "EHOSTUNREACH", 1236: "ECONNABORTED", 1450: "ENOMEM", 1455: "ENOMEM", 1460: "ETIMEDOUT",
	1326: "EAUTH", 1385: "EACCES", 1396: "EAUTH",
	10004: "EINTR", 10009: "EBADF", 10013: "EACCES", 10014: "EFAULT", 10022: "EINVAL", 10024: "EMFILE", 10035: "EAGAIN", 10036: "EINPROGRESS",
	10037: "EALREADY", 10038: "ENOTSOCK", 10040: "EMSGSIZE", 10043: "EPROTONOSUPPORT", 10045: "EOPNOTSUPP", 10047: "EAFNOSUPPORT",
	10048: "EADDRINUSE", 10049: "EADDRNOTAVAIL", 10050: "ENETDOWN", 10051: "ENETUNREACH", 10052: "ENETRESET", 10053: "ECONNABORTED",
	10054: "ECONNRESET", 10055: "ENOBUFS", 10056: "EISCONN", 10057: "ENOTCONN", 10058: "ESHUTDOWN", 10060: "ETIMEDOUT",
	10061: "ECONNREFUSED", 10064: "EHOSTDOWN", 10065: "EHOSTUNREACH", 11001: "ENOTFOUND", 11002: "EAI_AGAIN", 11003: "EAI_FAIL", 11004: "EAI_NODATA",
}

// weightOf returns how much an errno says.
func (e *errnoClass) weight() int {
	switch e.name {
	case "EINVAL", "EIO", "EFAULT", "ECHILD", "EBADF", "ENOENT", "EEXIST", "EPERM", "EAGAIN", "EMESSAGE", "ESOCKET", "EPIPE", "ECANCELED", "EINPROGRESS":
		return wSaid
	}
	return wStrong + 2
}

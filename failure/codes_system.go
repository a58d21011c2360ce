package failure

// errnoClass is a number of Linux, with the name that phrases and codes know.
type errnoClass struct {
	number int
	name   string
	class  Class
}

// errnoClasses are the errors of the operating system: by name on every system, by
// number as Linux counts.
var errnoClasses = []errnoClass{
	{1, "EPERM", PermissionError}, {2, "ENOENT", NotFound}, {3, "ESRCH", NotFound}, {4, "EINTR", TemporaryServiceError},
	{5, "EIO", TemporaryServiceError}, {6, "ENXIO", NotFound}, {7, "E2BIG", InputExceedsLimits}, {8, "ENOEXEC", InvalidInput},
	{9, "EBADF", ValidationError}, {10, "ECHILD", UnknownError}, {11, "EAGAIN", ResourceConstraint}, {12, "ENOMEM", ResourceConstraint},
	{13, "EACCES", PermissionError}, {14, "EFAULT", UnknownError}, {16, "EBUSY", ResourceConstraint}, {17, "EEXIST", BusinessLogicError},
	{18, "EXDEV", InvalidInput}, {19, "ENODEV", NotFound}, {20, "ENOTDIR", InvalidInput}, {21, "EISDIR", InvalidInput},
	{22, "EINVAL", InvalidInput}, {23, "ENFILE", ResourceConstraint}, {24, "EMFILE", ResourceConstraint}, {25, "ENOTTY", InvalidInput},
	{26, "ETXTBSY", ResourceConstraint}, {27, "EFBIG", InputExceedsLimits}, {28, "ENOSPC", ResourceConstraint}, {29, "ESPIPE", InvalidInput},
	{30, "EROFS", PermissionError}, {31, "EMLINK", InputExceedsLimits}, {32, "EPIPE", NetworkTimeout}, {33, "EDOM", InvalidInput},
	{34, "ERANGE", InvalidInput}, {35, "EDEADLK", TemporaryServiceError}, {36, "ENAMETOOLONG", InputExceedsLimits},
	{37, "ENOLCK", ResourceConstraint}, {38, "ENOSYS", ValidationError}, {39, "ENOTEMPTY", BusinessLogicError}, {40, "ELOOP", InvalidInput},
	{61, "ENODATA", NotFound}, {62, "ETIME", NetworkTimeout}, {71, "EPROTO", NetworkTimeout}, {74, "EBADMSG", InvalidInput},
	{75, "EOVERFLOW", InvalidInput}, {84, "EILSEQ", InvalidInput}, {87, "EUSERS", ResourceConstraint}, {88, "ENOTSOCK", InvalidInput},
	{90, "EMSGSIZE", InputExceedsLimits}, {93, "EPROTONOSUPPORT", InvalidInput}, {95, "EOPNOTSUPP", InvalidInput},
	{97, "EAFNOSUPPORT", InvalidInput}, {98, "EADDRINUSE", ResourceConstraint}, {99, "EADDRNOTAVAIL", ResourceConstraint},
	{100, "ENETDOWN", NetworkTimeout}, {101, "ENETUNREACH", NetworkTimeout}, {102, "ENETRESET", NetworkTimeout},
	{103, "ECONNABORTED", NetworkTimeout}, {104, "ECONNRESET", NetworkTimeout}, {105, "ENOBUFS", ResourceConstraint},
	{106, "EISCONN", NetworkTimeout}, {107, "ENOTCONN", NetworkTimeout}, {108, "ESHUTDOWN", NetworkTimeout},
	{110, "ETIMEDOUT", NetworkTimeout}, {111, "ECONNREFUSED", TemporaryServiceError}, {112, "EHOSTDOWN", NetworkTimeout},
	{113, "EHOSTUNREACH", NetworkTimeout}, {114, "EALREADY", TemporaryServiceError}, {115, "EINPROGRESS", NetworkTimeout},
	{116, "ESTALE", TemporaryServiceError}, {121, "EREMOTEIO", TemporaryServiceError}, {122, "EDQUOT", ResourceConstraint},
	{125, "ECANCELED", TemporaryServiceError}, {126, "ENOKEY", AuthenticationFailure}, {127, "EKEYEXPIRED", AuthenticationFailure},
	{128, "EKEYREVOKED", AuthenticationFailure}, {129, "EKEYREJECTED", AuthenticationFailure},
	{-1, "EWOULDBLOCK", ResourceConstraint}, {-1, "ENOTFOUND", TemporaryServiceError}, {-1, "EAI_AGAIN", TemporaryServiceError},
	{-1, "ESOCKETTIMEDOUT", NetworkTimeout}, {-1, "ENOTSUP", InvalidInput}, {-1, "EDEADLOCK", TemporaryServiceError},
	{-1, "EAI_NONAME", TemporaryServiceError}, {-1, "EAI_FAIL", TemporaryServiceError}, {-1, "EAI_NODATA", TemporaryServiceError},
	{-1, "EAUTH", AuthenticationFailure}, {-1, "ECONNECTION", NetworkTimeout}, {-1, "EENVELOPE", InvalidInput}, {-1, "EMESSAGE", UnknownError},
	{-1, "ESOCKET", NetworkTimeout}, {-1, "ECONNCLOSED", NetworkTimeout}, {-1, "ETIMEOUT", NetworkTimeout}, {-1, "EREQUEST", ValidationError},
	{-1, "ELOGIN", AuthenticationFailure}, {-1, "EABORT", NetworkTimeout}, {-1, "EDNS", TemporaryServiceError}, {-1, "ETLS", NetworkTimeout},
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

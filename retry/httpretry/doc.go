// Package httpretry makes clients of net/http that retry safely: Transport goes below any
// http.Client, also that of an SDK, and retries by a retry.Strategy.
//
//	client := &http.Client{Transport: httpretry.Transport(strategy, nil)}
//
// # What is sent again
//
// GET, HEAD, OPTIONS, TRACE, PUT and DELETE, and requests with the header Idempotency-Key or
// X-Idempotency-Key, are sent again after every failure that the strategy retries. Other
// requests (POST, PATCH) are sent again only when the other side has not received them, or
// has refused them with 429. Options.Keyed of a strategy says that the other side supports
// Idempotency-Key. Then POST and PATCH get a key, which is the same in all attempts, and
// they are sent again like the other methods. Within a call of retry.Do of the same
// dependency, that call retries, and the requests get its key (see retry.Strategy.Within).
// So such a call should make one request. If its strategy is not Keyed, there is no key, and
// POST and PATCH are not sent again.
//
// A body is rewound by Request.GetBody, which http.NewRequest sets for bytes.Buffer,
// bytes.Reader and strings.Reader. A request with a body that cannot be rewound is sent only
// once. If it would have to be sent again, the error is a *BodyError. Rewindable reads such
// a body into memory.
//
// # What comes back
//
// A response that the strategy does not retry is returned unchanged, with any status: 404 is
// not an error, as without the transport. When the retries are used up, the result is an error:
// a *retry.Error around a *StatusError. Inside a job this error hands the job over. Within a
// call of the same dependency it is only the *StatusError, which that call retries. The time
// limit of an attempt (Options.AttemptTimeout) ends with the headers of the response; after
// that the request's context counts.
//
// A body that breaks off after the headers is not retried, because the caller may have used a
// part of it. ReadAll reads a whole body and retries all of it.
//
// # What others see
//
// Every request has the header X-Retry-Attempt, from 1. Each request that is sent is counted,
// see retry.CountSend, including repeats by net/http. Count only counts. Errors and log lines
// have no query, no user and no password of a URL, and neither headers nor bodies. An
// http.Client wraps these errors in a *url.Error, which contains the query. ReadAll removes the
// query; other callers can use failure.Sanitize.
package httpretry

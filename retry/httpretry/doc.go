// Package httpretry makes clients of net/http that retry safely: Transport goes
// below any http.Client, also that of an SDK, and retries by a retry.Strategy.
//
//	client := &http.Client{Transport: httpretry.Transport(strategy, nil)}
//
// # What is sent again
//
// GET, HEAD, OPTIONS, TRACE, PUT and DELETE, and requests with the header
// Idempotency-Key or X-Idempotency-Key, are sent again after every failure that the
// strategy retries. Others (POST, PATCH) are sent again only when the other side has
// seen nothing of them, or has turned them away with 429. A strategy with
// Options.Keyed says that the other side heeds Idempotency-Key: then these get one,
// the same in all attempts, and count as the rest. Within a call of retry.Do of the
// same dependency, which does the retrying, they get the key of that call (see
// retry.Strategy.Within), so one such call should make one request; where it has none,
// because its strategy is not Keyed, they are not sent again.
//
// A body is rewound by Request.GetBody, which http.NewRequest sets for bytes.Buffer,
// bytes.Reader and strings.Reader. A request with a body that cannot be rewound is
// sent once, and if it would have to be sent again the error is a *BodyError.
// Rewindable reads such a body into memory.
//
// # What comes back
//
// A response that the strategy does not retry is returned as it is, whatever its
// status: as without the transport, 404 is no error. One that it would retry and
// cannot any more is an error: a *retry.Error around a *StatusError, which hands the
// job over within one. Within a call of the same dependency it is the *StatusError
// alone, which that call retries. The time limit of an attempt (Options.AttemptTimeout) ends
// with the headers of the response; after that the request's context counts.
//
// A body that breaks off after the headers is the caller's, who may have used a part
// of it. ReadAll retries the whole of it.
//
// # What others see
//
// Every request has the header X-Retry-Attempt, from 1. What is really sent is
// counted, see retry.CountSend, replays by net/http included; Count does no more
// than that. Errors and log lines have no query, no user and no password of a URL, and
// neither headers nor bodies. An http.Client puts a *url.Error around them, which has
// the query: ReadAll takes it out, others let failure.Sanitize do it.
package httpretry

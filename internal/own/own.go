// Package own lets redrive's own programs enqueue kinds that other programs cannot enqueue.
package own

import "context"

type key struct{}

// Kinds returns a context with which a client enqueues kinds that begin with "redrive.".
func Kinds(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Allowed reports whether Kinds has made the context, or one that it is derived from.
func Allowed(ctx context.Context) bool { return ctx.Value(key{}) != nil }

//go:build !linux

package postgres

import "github.com/redrive/redrive/store"

// spaceOf returns the space of the file system with the directory of a server. It is known on
// Linux only.
func spaceOf(int64, string) (*store.Space, string) { return nil, "it is known on Linux only" }

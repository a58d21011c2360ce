//go:build !linux

package sqlite

import "github.com/redrive/redrive/store"

// checkFileSystem accepts every file system: only Linux is supported here.
func checkFileSystem(string) error { return nil }

// spaceOf returns nil: the space of a file system is known only on Linux.
func spaceOf(string) *store.Space { return nil }

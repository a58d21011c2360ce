//go:build !linux

package postgres

import "syscall"

// endUnheard is for Linux only, see unheard.
func endUnheard(string, string, syscall.RawConn) error { return nil }

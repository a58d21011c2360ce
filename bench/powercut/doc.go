// Package powercut cuts the power of a SQLite database. Real processes work on a file system that
// records every write, flush, truncation, creation, removal and renaming. From the record, the
// package builds the files that a disk may have after a power cut at each point, and checks that
// the database on each such disk still has everything that was acknowledged to a process.
//
//	go test . -powercut.states 100000 -v -timeout 180m
//
// What a disk may have after a cut:
//
//   - A flush of a file (fsync) makes the contents and the size of the file durable, and nothing
//     else. In particular, the name of a new file needs a flush of its directory.
//   - Of what was not flushed, each sector is kept or lost by itself, so writes are torn and seem to
//     have happened in another order. A sector of 512 bytes is written completely or not at all.
//     The size of a file and the removal or creation of a name are kept or lost by themselves, too.
//   - Where a file has grown and the new contents are lost, it has zeros or old contents of the disk.
//
// The ledgers of the processes are in the same record, so the record says what each process knew at
// the cut. The ledgers themselves lose nothing.
//
// The package is a module of its own, because the file system needs go-fuse, which users of redrive
// should not find among its requirements.
package powercut

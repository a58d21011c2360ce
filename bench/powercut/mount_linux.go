package powercut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// errNoFUSE means that this machine cannot mount a file system in user space. The tests are then
// skipped.
var errNoFUSE = errors.New("no file system in user space (FUSE) can be mounted here")

// mounted is a mounted file system with one directory in memory, and the record of what is done in it.
type mounted struct {
	record
	server *fuse.Server
	files  sync.Mutex // guards the contents of the files, and keeps the record in the order of the changes
	last   uint64     // number of the newest file
}

// mount mounts a recording file system with some files at an existing directory. The record begins
// with the creation of these files and with their flush.
func mount(at string, files image) (*mounted, error) {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoFUSE, err)
	}
	m := &mounted{}
	top := &directory{m: m}
	server, err := fs.Mount(at, top, &fs.Options{
		// With root, no program fusermount3 is needed.
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "powercut", Name: "powercut"},
		OnAdd:        func(ctx context.Context) { top.fill(ctx, files) },
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w (without root, fusermount3 is needed; on Debian: apt-get install fuse3)", errNoFUSE, err)
	}
	m.server = server
	return m, nil
}

// close unmounts the file system. The record stays.
func (m *mounted) close() error { return m.server.Unmount() }

// directory is the only directory.
type directory struct {
	fs.Inode
	m *mounted
}

var (
	_ fs.NodeCreater        = (*directory)(nil)
	_ fs.NodeUnlinker       = (*directory)(nil)
	_ fs.NodeRenamer        = (*directory)(nil)
	_ fs.NodeOpendirHandler = (*directory)(nil)
)

// fill adds durable files to the empty directory.
func (d *directory) fill(ctx context.Context, files image) {
	d.m.files.Lock()
	defer d.m.files.Unlock()
	for name, data := range files {
		f, node := d.newFile(ctx, name)
		f.data = slices.Clone(data)
		d.m.add(op{kind: write, file: f.number, data: data})
		d.m.add(op{kind: flush, file: f.number})
		d.AddChild(name, node, false)
	}
	d.m.add(op{kind: flushDir})
}

// newFile makes an empty file and records its creation.
func (d *directory) newFile(ctx context.Context, name string) (*file, *fs.Inode) {
	d.m.last++
	f := &file{m: d.m, number: d.m.last}
	d.m.add(op{kind: create, file: f.number, name: name})
	return f, d.NewPersistentInode(ctx, f, fs.StableAttr{Mode: syscall.S_IFREG})
}

// Create implements fs.NodeCreater.
func (d *directory) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	d.m.files.Lock()
	defer d.m.files.Unlock()
	f, node := d.newFile(ctx, name)
	f.attr(&out.Attr)
	return node, nil, 0, 0
}

// Unlink implements fs.NodeUnlinker.
func (d *directory) Unlink(_ context.Context, name string) syscall.Errno {
	d.m.files.Lock()
	defer d.m.files.Unlock()
	d.m.add(op{kind: unlink, name: name})
	return 0
}

// Rename implements fs.NodeRenamer.
func (d *directory) Rename(_ context.Context, name string, _ fs.InodeEmbedder, to string, flags uint32) syscall.Errno {
	if flags != 0 {
		return syscall.EINVAL
	}
	d.m.files.Lock()
	defer d.m.files.Unlock()
	d.m.add(op{kind: rename, name: name, to: to})
	return 0
}

// OpendirHandle implements fs.NodeOpendirHandler.
func (d *directory) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	var entries []fuse.DirEntry
	for name, child := range d.Children() {
		entries = append(entries, fuse.DirEntry{Name: name, Mode: child.Mode(), Ino: child.StableAttr().Ino})
	}
	return &listing{DirStream: fs.NewListDirStream(entries), m: d.m}, 0, 0
}

// listing is the open directory.
type listing struct {
	fs.DirStream
	m *mounted
}

// Readdirent implements fs.FileReaddirenter.
func (l *listing) Readdirent(context.Context) (*fuse.DirEntry, syscall.Errno) {
	if !l.HasNext() {
		return nil, 0
	}
	e, errno := l.Next()
	return &e, errno
}

// Fsyncdir implements fs.FileFsyncdirer.
func (l *listing) Fsyncdir(context.Context, uint32) syscall.Errno {
	l.m.files.Lock()
	defer l.m.files.Unlock()
	l.m.add(op{kind: flushDir})
	return 0
}

// file is a file in memory.
type file struct {
	fs.Inode
	m      *mounted
	number uint64
	data   []byte
}

var (
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
)

func (f *file) attr(out *fuse.Attr) {
	out.Mode, out.Nlink, out.Size = syscall.S_IFREG|0o644, 1, uint64(len(f.data))
	out.Uid, out.Gid = uint32(os.Getuid()), uint32(os.Getgid())
}

// Open implements fs.NodeOpener. The kernel caches pages, because SQLite maps its WAL index.
func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Read implements fs.NodeReader.
func (f *file) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f.m.files.Lock()
	defer f.m.files.Unlock()
	n := 0
	if off < int64(len(f.data)) {
		n = copy(dest, f.data[off:])
	}
	return fuse.ReadResultData(dest[:n]), 0
}

// Write implements fs.NodeWriter.
func (f *file) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	f.m.files.Lock()
	defer f.m.files.Unlock()
	kept := append([]byte(nil), data...) // the buffer is used again after this call
	f.data = written(f.data, kept, off)
	f.m.add(op{kind: write, file: f.number, off: off, data: kept})
	return uint32(len(data)), 0
}

// Fsync implements fs.NodeFsyncer.
func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.m.files.Lock()
	defer f.m.files.Unlock()
	f.m.add(op{kind: flush, file: f.number})
	return 0
}

// Getattr implements fs.NodeGetattrer.
func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.m.files.Lock()
	defer f.m.files.Unlock()
	f.attr(&out.Attr)
	return 0
}

// Setattr implements fs.NodeSetattrer. Only the size can be changed; modes and times are ignored.
func (f *file) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.m.files.Lock()
	defer f.m.files.Unlock()
	if size, ok := in.GetSize(); ok {
		f.data = resized(f.data, int64(size))
		f.m.add(op{kind: truncate, file: f.number, off: int64(size)})
	}
	f.attr(&out.Attr)
	return 0
}

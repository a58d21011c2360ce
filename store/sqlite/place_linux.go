package sqlite

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/redrive/redrive/store"
)

// networkFileSystems are file systems that the store refuses. Their locks and shared memory do
// not work across machines, so SQLite would damage the file.
var networkFileSystems = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.SMB2_SUPER_MAGIC: "SMB",
	unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
	unix.CEPH_SUPER_MAGIC: "Ceph",
	unix.NCP_SUPER_MAGIC:  "NCP",
	unix.V9FS_MAGIC:       "9P",
}

func checkFileSystem(path string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &stat); err != nil {
		return nil // the error is ignored here, because opening the file returns it again
	}
	return refuseNetwork(path, int64(stat.Type))
}

// spaceOf returns the space of the file system that contains a file. It returns nil when the
// space is not known.
func spaceOf(path string) *store.Space {
	var stat unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &stat); err != nil {
		return nil
	}
	block := int64(stat.Bsize) //nolint:unconvert // the type differs between architectures
	return &store.Space{Free: int64(stat.Bavail) * block, Total: int64(stat.Blocks) * block}
}

func refuseNetwork(path string, magic int64) error {
	if name, ok := networkFileSystems[magic]; ok {
		return fmt.Errorf("database %s is on a network file system (%s): locks do not hold there and the file "+
			"would be damaged; put it on a local disk", path, name)
	}
	return nil
}

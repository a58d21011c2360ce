package sqlite

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	t.Parallel()
	for magic, refused := range map[int64]bool{
		unix.NFS_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.V9FS_MAGIC: true,
		unix.EXT4_SUPER_MAGIC: false, unix.XFS_SUPER_MAGIC: false, unix.BTRFS_SUPER_MAGIC: false,
		unix.TMPFS_MAGIC: false, unix.OVERLAYFS_SUPER_MAGIC: false,
	} {
		err := refuseNetwork("/mnt/jobs.db", magic)
		if refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "local disk") {
			t.Errorf("check of the file system type %#x: got error %v, want an error that recommends a local disk, but only for network file systems", magic, err)
		}
	}
}

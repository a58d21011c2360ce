package sqlite

import "testing"

func TestFileSystem(t *testing.T) {
	t.Parallel()
	const mounts = `22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:26 / /mnt rw shared:5 - xfs /dev/sdb1 rw
31 30 0:27 / /mnt/my\040share rw - nfs4 host:/export rw
32 22 0:28 / /mnt/twice rw - tmpfs none rw
33 22 0:29 / /mnt/twice rw - btrfs /dev/sdc1 rw
half a line
`
	for path, want := range map[string]string{
		"/var/jobs.db":          "ext4",
		"/mnt/jobs.db":          "xfs",
		"/mntx/jobs.db":         "ext4",
		"/mnt/my share/jobs.db": "nfs4",
		"/mnt/twice/jobs.db":    "btrfs",
	} {
		if got := fileSystem(mounts, path); got != want {
			t.Errorf("file system of %s: got %q, want %q", path, got, want)
		}
	}
	if got := fileSystem("", "/jobs.db"); got != "" {
		t.Errorf("file system without a list of mounts: got %q, want \"\"", got)
	}
}

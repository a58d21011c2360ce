package postgres

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redrive/redrive/store"
)

// spaceOf returns the space of the file system with the directory of a server whose process has the
// given id. It returns nil and the reason if the server is not on this machine, or in a container.
func spaceOf(pid int64, directory string) (*store.Space, string) {
	// Processes of another machine or of a container have other ids here, or none.
	name, err := os.ReadFile("/proc/" + strconv.FormatInt(pid, 10) + "/comm")
	if err != nil || strings.TrimSpace(string(name)) != "postgres" {
		return nil, "the server is on another machine or in a container"
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(directory, &stat); err != nil {
		return nil, "the directory " + directory + " of the server cannot be reached: " + err.Error()
	}
	block := int64(stat.Bsize) //nolint:unconvert // the type differs between architectures
	return &store.Space{Free: int64(stat.Bavail) * block, Total: int64(stat.Blocks) * block}, ""
}

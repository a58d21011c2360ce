//go:build unix

package servers

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that runs a server; nil means the user of this process.
type account struct{ uid, gid int }

// serverAccount returns the account for servers with data below the directory. PostgreSQL and
// PgBouncer refuse to run as root.
func serverAccount(temp string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if name == "nobody" { // the account nobody is the last choice, because other programs use it, too
			if info, err := os.Stat(temp); err == nil {
				if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 {
					return &account{int(s.Uid), int(s.Gid)}, nil
				}
			}
		}
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			return nil, err
		}
		return &account{uid, gid}, nil
	}
	return nil, errors.New("servers do not run as root, and there is no other user: create one named postgres")
}

// home is the directory of one server. It is removed after this process has ended.
type home struct {
	dir   string
	owner *account
	guard *exec.Cmd
	tell  io.WriteCloser
}

// guardScript waits until the process that started it has ended or closes the pipe. It then ends
// the server and removes the server's directory. It reads the process id of the server from the
// pipe (0 without a server), and gets the directory as an argument.
const guardScript = `
server=0
while read -r n; do server=$n; done
if [ "$server" -gt 1 ]; then
	kill -s CONT "$server"
	kill -s QUIT "$server"
	tries=0
	# Where nobody buries the dead, a zombie stays.
	while kill -s 0 "$server" && ! grep -q ') Z ' "/proc/$server/stat" && [ "$tries" -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	kill -s KILL "$server"
fi
umount -l "$1/disk"
rm -rf "$1"
`

// newHome makes the directory of one server, owned by the operating-system user that will
// run the server. It also starts the guard: a process that ends the server and removes the
// directory when this process has ended.
func newHome() (*home, error) {
	temp := os.TempDir()
	owner, err := serverAccount(temp)
	if err != nil {
		return nil, err
	}
	// The path of a socket has at most 100 bytes, and the account must have access to it.
	if len(temp) > 60 || owner != nil && !open(temp) {
		temp = "/tmp"
	}
	dir, err := os.MkdirTemp(temp, "redrive-server-")
	if err != nil {
		return nil, err
	}
	h := &home{dir: dir, owner: owner}
	if err := h.own(dir); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	h.guard = exec.Command("/bin/sh", "-c", guardScript, "guard", dir) //nolint:noctx // the guard outlives this process
	h.guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}           // Ctrl-C must not end the guard
	if h.tell, err = h.guard.StdinPipe(); err == nil {
		err = h.guard.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard of a server: %w", err), os.Remove(dir))
	}
	return h, nil
}

// open reports whether all users have access to a directory.
func open(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// own gives a file or directory to the account of the server.
func (h *home) own(path string) error {
	if h.owner == nil {
		return nil
	}
	return os.Lchown(path, h.owner.uid, h.owner.gid)
}

// write makes a file that only the server's account can read.
func (h *home) write(name, text string) (path string, err error) {
	path = filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil { //nolint:gosec // the path is inside the directory that was made for the server
		return "", err
	}
	return path, h.own(path)
}

// runs sends the guard the process id of the server; 0 means that no server is running.
func (h *home) runs(pid int) { _, _ = fmt.Fprintln(h.tell, pid) }

// remove stops the guard, which removes the directory.
func (h *home) remove() error {
	if err := h.tell.Close(); err != nil {
		return err
	}
	_ = h.guard.Wait() // no error check: the code below checks whether the directory was removed
	if _, err := os.Lstat(h.dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the directory %s of a server could not be removed", h.dir)
	}
	return nil
}

// Ports of servers are below the range that systems use for outgoing connections, so that a stopped
// server finds its port free when it starts again.
const (
	portMin = 15500
	portMax = 32000
)

// freePort returns a free port of 127.0.0.1.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := portMin + rand.IntN(portMax-portMin)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // closed at once
		if err != nil {
			last = err
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("no port of 127.0.0.1 is free: %w", last)
}

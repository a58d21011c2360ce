package postgres

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The system has to end connections that nobody answers on.
//
// part of: Q10
func TestQ10_TheSystemEndsForgottenConnections(t *testing.T) {
	t.Parallel()
	_, dsn := freshAt(t, nil)
	config, err := configure(dsn, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dial(t.Context(), config.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	socket, ok := conn.PgConn().Conn().(syscall.Conn)
	if !ok || config.ConnConfig.Host[0] == '/' {
		t.Skip("the tests' server is not reached by TCP alone")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (n int) {
		if cerr := raw.Control(func(fd uintptr) { n, err = unix.GetsockoptInt(int(fd), level, name) }); cerr != nil || err != nil {
			t.Fatal(cerr, err)
		}
		return n
	}
	if ms := option(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); ms != int(unheard.Milliseconds()) {
		t.Errorf("unconfirmed data are waited for %d ms, want %s", ms, unheard)
	}
	if option(unix.SOL_SOCKET, unix.SO_KEEPALIVE) == 0 || option(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE) != int(keepAlive.Idle.Seconds()) {
		t.Error("the other machine is not asked for a sign of life")
	}
}

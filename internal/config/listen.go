package config

import (
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/server/access"
)

// SocketPrefix begins an address that is the path of a Unix socket.
const SocketPrefix = "unix:"

// socketPathMax is the largest number of bytes of the path of a Unix socket that each system takes.
const socketPathMax = 103

// TLS names the files of the server's certificate. Both are empty, or neither.
type TLS struct {
	Cert string // the certificate and its chain, as PEM
	Key  string // its private key, as PEM
}

// ListenMistake says what is wrong with an address to listen on; "" if nothing is.
func ListenMistake(address string) string {
	if path, ok := strings.CutPrefix(address, SocketPrefix); ok {
		switch {
		case path == "":
			return "unix: needs a path, such as unix:/run/redrive/redrive.sock"
		case len(path) > socketPathMax:
			return "the path of a Unix socket has " + strconv.Itoa(len(path)) + " bytes; at most " + strconv.Itoa(socketPathMax) + " are allowed"
		case strings.ContainsRune(path, 0):
			return "the path of a Unix socket must not hold a NUL character"
		}
		return ""
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "must be an address and a port from 0 to 65535, such as 127.0.0.1:8080, or unix:PATH"
	}
	return ""
}

// listen reads the address of the server.
func (r *reader) listen(into *string) func(value) {
	return func(v value) {
		if !r.Is(v, yamlfile.Text, "an address such as 127.0.0.1:8080, or unix:PATH") {
			return
		}
		if mistake := ListenMistake(v.Text); mistake != "" {
			r.Addf(v.Pos, "%s %s: %s", v.Path, yamlfile.Quote(v.Text), mistake)
			return
		}
		*into = v.Text
	}
}

// socketMode reads the permissions of the socket's file, in octal form.
func (r *reader) socketMode(into *os.FileMode) func(value) {
	return func(v value) {
		mode, err := strconv.ParseUint(v.Text, 8, 32)
		if v.Shape != yamlfile.Text && v.Shape != yamlfile.Number || err != nil || mode > 0o777 || mode&0o600 != 0o600 {
			r.Mismatch(v, `permissions in octal form from "0600" to "0777"`, `; write "0660"`)
			return
		}
		*into = os.FileMode(mode)
	}
}

func (r *reader) tls(v value, t *TLS) {
	r.Fields(v, "a mapping such as {cert: server.crt, key: server.key}", []field{
		{"cert", r.NonEmpty(&t.Cert)},
		{"key", r.NonEmpty(&t.Key)},
	})
	if v.Shape != yamlfile.Mapping {
		return
	}
	switch {
	case v.Get("cert") == nil:
		r.Addf(v.Pos, "%s has no cert; add the file with the certificate", v.Path)
	case v.Get("key") == nil:
		r.Addf(v.Pos, "%s has no key; add the file with the private key of the certificate", v.Path)
	}
}

// serverTogether reports settings of the server that do not fit together. It is called only if each
// of them is right by itself.
func (r *reader) serverTogether(v value, s *Server) {
	at := func(key string) position {
		if n := v.Get(key); n != nil {
			return n.Pos
		}
		return v.Pos
	}
	if s.TLS.Cert != "" && strings.HasPrefix(s.Listen, SocketPrefix) {
		r.Addf(at("tls"), "server.tls is for a network address, but server.listen is a Unix socket; remove one of them")
	}
	if s.Auth == access.ByProxy && len(s.Proxy.Trusted) == 0 && !strings.HasPrefix(s.Listen, SocketPrefix) {
		r.Addf(at("auth"), "server.auth is proxy, but server.proxy.trusted names no proxy: add the addresses of the proxy, such as [10.0.0.0/8]")
	}
	if s.Auth == access.ByProxy && len(s.Proxy.Roles) == 0 {
		r.Addf(at("auth"), "server.auth is proxy, but server.proxy.roles gives nobody a role: add the roles of groups, such as {sre: administer}")
	}
}

package cli

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/config"
)

// certificateCheckEvery is the time between two looks at the files of a certificate.
const certificateCheckEvery = time.Second

// certificate is the certificate of a server. When its files change, the next connection gets the
// new one.
type certificate struct {
	files config.TLS
	log   *slog.Logger
	now   func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
	seen    [2]fileMark
	checked time.Time
}

// fileMark tells two versions of a file apart.
type fileMark struct {
	changed time.Time
	size    int64
}

// openCertificate reads a certificate and its key.
func openCertificate(files config.TLS, now func() time.Time) (*certificate, error) {
	c := &certificate{files: files, log: slog.Default(), now: now}
	seen, err := c.marks()
	if err != nil {
		return nil, err
	}
	c.seen = seen
	c.current, err = c.load()
	return c, err
}

func (c *certificate) marks() (marks [2]fileMark, err error) {
	for i, f := range [...]struct{ setting, path string }{{"server.tls.cert", c.files.Cert}, {"server.tls.key", c.files.Key}} {
		info, err := os.Stat(f.path)
		if err != nil {
			return marks, fmt.Errorf("%s: %w", f.setting, err)
		}
		marks[i] = fileMark{info.ModTime(), info.Size()}
	}
	return marks, nil
}

func (c *certificate) load() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return nil, fmt.Errorf("server.tls: %s and %s: %w; give the certificate with its chain, and its key, as PEM files", c.files.Cert, c.files.Key, err)
	}
	return &pair, nil
}

// get returns the certificate for a connection. If the new files cannot be read, as while they are
// being replaced, the connection gets the certificate before them.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if age := now.Sub(c.checked); age >= 0 && age < certificateCheckEvery {
		return c.current, nil
	}
	c.checked = now
	seen, err := c.marks()
	if err == nil && seen == c.seen {
		return c.current, nil
	}
	var fresh *tls.Certificate
	if err == nil {
		fresh, err = c.load()
	}
	if err != nil {
		c.log.Warn("the new certificate cannot be read; the previous one stays in use", "error", err)
		return c.current, nil
	}
	c.current, c.seen = fresh, seen
	c.log.Info("the certificate was read again", "file", c.files.Cert)
	return c.current, nil
}

// config returns the settings for TLS.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

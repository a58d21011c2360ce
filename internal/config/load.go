package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Load reads the file at path. If the file has mistakes, the error is a Problems; if the file
// cannot be read, it is the error of the operating system.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open configuration: %w", err)
	}
	defer f.Close()
	// One byte above the limit is enough for Parse to see that the file is too large.
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, data, filepath.Dir(path))
}

// Parse reads the configuration in data. The argument name is the name of the file in messages
// about mistakes. Relative paths in the file start from dir. All mistakes are returned at once, as
// Problems.
func Parse(name string, data []byte, dir string) (*Config, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder of %s: %w", name, err)
	}
	r := newReader(name)
	c := Default()
	if root, ok := r.Parse(data); ok {
		r.config(root, c)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	c.resolve(dir)
	return c, nil
}

// resolve makes the paths of the file absolute.
func (c *Config) resolve(dir string) {
	c.Dir = dir
	if c.Postgres.DSN.IsZero() {
		c.Database = under(dir, c.Database)
	}
	if c.Postgres.PasswordFile != "" {
		c.Postgres.PasswordFile = under(dir, c.Postgres.PasswordFile)
	}
	if c.Notify.Templates != "" {
		c.Notify.Templates = under(dir, c.Notify.Templates)
	}
	if c.TempDir != "" {
		c.TempDir = under(dir, c.TempDir)
	}
	if _, ok := c.Preset(); c.Policy != "" && !ok {
		c.Policy = under(dir, c.Policy)
	}
	if path, ok := strings.CutPrefix(c.Server.Listen, SocketPrefix); ok {
		c.Server.Listen = SocketPrefix + under(dir, path)
	}
	for _, file := range [...]*string{&c.Server.TLS.Cert, &c.Server.TLS.Key} {
		if *file != "" {
			*file = under(dir, *file)
		}
	}
	for name, s := range c.Streams {
		var files []*string
		if s.TLS != nil {
			files = append(files, &s.TLS.CAFile, &s.TLS.CertFile, &s.TLS.KeyFile)
		}
		if s.SASL != nil {
			files = append(files, &s.SASL.PasswordFile, &s.SASL.TokenFile)
		}
		if s.Marks != nil {
			files = append(files, &s.Marks.PasswordFile)
		}
		if s.Documents != nil {
			files = append(files, &s.Documents.PasswordFile)
		}
		for _, file := range files {
			if *file != "" {
				*file = under(dir, *file)
			}
		}
		c.Streams[name] = s
	}
	for name, k := range c.Kinds {
		k.Dir = under(dir, k.Dir)
		if k.Schema != "" {
			k.Schema = under(dir, k.Schema)
		}
		if isPath(k.Command[0]) {
			k.Command[0] = under(dir, k.Command[0])
		}
		c.Kinds[name] = k
	}
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// isPath reports whether a program is a path, and not a name to look up in PATH.
func isPath(program string) bool {
	return strings.ContainsRune(program, '/') || strings.ContainsRune(program, filepath.Separator)
}

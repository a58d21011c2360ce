//go:build unix

package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
)

// Standby makes a second server that follows this one by streaming replication, and starts it. The
// name is its application_name, for synchronous_standby_names of this server. This server is stopped
// for the copy of its data and started again. Both have the same settings, role and password.
func (p *Postgres) Standby(ctx context.Context, name string) (s *Postgres, err error) {
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	s = &Postgres{home: h, bin: p.bin, data: filepath.Join(h.dir, "data"), password: p.password, settings: maps.Clone(p.settings)}
	if err = s.follow(ctx, p, name); err != nil {
		return nil, errors.Join(fmt.Errorf("start a standby: %w", err), s.Close())
	}
	return s, nil
}

func (p *Postgres) follow(ctx context.Context, primary *Postgres, name string) error {
	if err := primary.Stop(Fast); err != nil {
		return err
	}
	err := p.home.run("cp", "-a", primary.data, p.data)
	if err := errors.Join(err, primary.Start(ctx)); err != nil {
		return err
	}
	signal, err := p.home.write("standby.signal", "")
	if err == nil {
		err = p.home.run("mv", signal, p.data)
	}
	if err != nil {
		return err
	}
	p.settings["unix_socket_directories"] = p.home.dir
	p.settings["primary_conninfo"] = fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s application_name=%s sslmode=disable",
		primary.port, postgresUser, primary.password, name)
	return p.first(ctx)
}

// Promote makes a standby the primary. The old primary must have been stopped before. It returns
// when the server accepts writes.
func (p *Postgres) Promote() error {
	return p.home.run(filepath.Join(p.bin, "pg_ctl"), "promote", "-w", "-D", p.data, "-t", strconv.Itoa(int(patience.Seconds())))
}

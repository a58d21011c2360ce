package redrive

import (
	"context"
	"crypto/rand"
	"maps"
	"os"
	"runtime/debug"
	"slices"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/store"
)

// Processes returns the processes that work on the store, sorted by name. A process is
// listed from the start of Run until its end. The entry of a process that was killed is
// Silent after store.SilentAfter, and is removed after store.SilentKept.
func (c *Client) Processes(ctx context.Context) ([]Process, error) { return c.store.Processes(ctx) }

// OrderProcess orders a process to be quiet, or withdraws this order, in the name of a person. A
// quiet process claims no jobs and finishes the jobs that it runs. The process gets the order
// within store.PresentEvery. The order ends with the process: when the process is started again, it
// claims jobs. The error is ErrNotFound when no process with this name is registered.
func (c *Client) OrderProcess(ctx context.Context, by By, name string, quiet bool) error {
	return c.store.OrderProcess(ctx, by, name, quiet)
}

// newPresence returns the function that the engine of one Run calls to report that the process
// is alive. The caller holds the client's lock.
func (c *Client) newPresence() func(context.Context, engine.Sign) (store.Orders, error) {
	p := c.process("work")
	p.Queues, p.Kinds = slices.Sorted(maps.Keys(c.config.Queues)), slices.Sorted(maps.Keys(c.handlers))
	return func(ctx context.Context, s engine.Sign) (store.Orders, error) {
		c.followLabels(ctx)
		p := p
		p.Policy, p.Slots, p.Running, p.Left = c.policies.Load().set.Hash(), s.Slots, s.Running, s.Leaving
		for i, a := range s.Sick {
			if i == store.SickMax {
				break
			}
			p.Sick = append(p.Sick, store.Sickness{Kind: a.Kind, Cause: store.SickCause(a.Err.Error())})
		}
		return c.store.Present(ctx, p)
	}
}

// process returns the entry of this process in the list of processes. The argument says what
// the process does, such as "work" or "keep". Each call returns an entry with another
// Instance.
func (c *Client) process(what string) store.Process {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return store.Process{
		Name: c.config.Name, Instance: rand.Text(), What: what, Host: host, PID: os.Getpid(), Version: ownVersion(), Build: c.config.Build,
	}
}

// module is the path of the module of this package.
const module = "github.com/redrive/redrive"

// ownVersion returns the version of redrive that the go command has written into the
// program, or "" if the program has no such version.
func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if info.Main.Path == module {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}

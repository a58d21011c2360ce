package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// policyEvery is the time between two reads of the policy file by a worker. A change takes
// effect after two reads with the same content. So it reaches all workers within a second,
// even on a busy machine.
const policyEvery = 300 * time.Millisecond

// workPolicy is the policy of a worker and the file from which it was read.
type workPolicy struct {
	policy  *policy.Policy
	watcher *policyfile.Watcher // the watcher of the policy file; nil if the policy does not come from a file
}

// openPolicy loads the policy of a configuration. It returns an error if the policy cannot
// be used with that configuration.
func openPolicy(s *settings) (p workPolicy, err error) {
	name := s.policyName()
	if _, preset := s.Preset(); name == "" || preset {
		p.policy, err = loadPolicy(name)
	} else if p.watcher, err = policyfile.Watch(name); err == nil {
		p.policy, err = readable(&p.watcher.File().Spec)
	}
	if err != nil {
		return p, absentPolicy(name, err)
	}
	_, err = underConfig(p.policy, s.Config)
	return p, err
}

// policyKeeper puts the policy in force each time the policy file changes to a valid one.
type policyKeeper struct {
	*worker
	watcher *policyfile.Watcher
	set     func(context.Context, redrive.By, *policy.Policy) error
	by      redrive.By
	inForce *policy.Policy
	refused string // the last policy that was refused, with the error, so that each refusal is logged only once
}

// keepPolicy reads the policy file again after each change and after each SIGHUP, until the
// context ends. The returned function waits until this has stopped.
func (w *worker) keepPolicy(ctx context.Context, client *redrive.Client, by redrive.By) (wait func()) {
	w.logForeign(ctx, w.policy.policy)
	if w.policy.watcher == nil {
		return func() {}
	}
	k := &policyKeeper{worker: w, watcher: w.policy.watcher, set: client.SetPolicy, by: by, inForce: w.policy.policy}
	hangup := make(chan os.Signal, 1)
	if !w.screen.style.terminal { // on a terminal, SIGHUP means that the terminal was closed
		signal.Notify(hangup, syscall.SIGHUP)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer signal.Stop(hangup)
		ticker := time.NewTicker(policyEvery)
		defer ticker.Stop()
		k.follow(ctx, ticker.C, hangup)
	}()
	return func() { <-ended }
}

func (k *policyKeeper) follow(ctx context.Context, tick <-chan time.Time, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			k.look(ctx, false)
		case <-hangup:
			k.look(ctx, true)
		}
	}
}

// look reads the policy file and puts a new policy in force. If somebody has asked for it,
// the file is known to be complete, and look logs a result even if nothing has changed.
// Otherwise, somebody may still be writing the file, so a change counts only when two reads
// in a row have found the same content.
func (k *policyKeeper) look(ctx context.Context, asked bool) {
	look := k.watcher.Look
	if asked {
		look = k.watcher.Reload
	}
	_, err := look()
	f := k.watcher.File()
	if asked && err == nil { // the watcher reports each mistake only once
		_, err = policyfile.Load(f.Name)
	}
	if err != nil {
		k.logBad(ctx, err)
		return
	}
	if f.Policy.Hash() == k.inForce.Hash() {
		if asked {
			k.log.InfoContext(ctx, "the policy file was read again, and the policy is the same", k.about(f.Name, k.inForce)...)
		}
		return
	}
	p, err := readable(&f.Spec)
	if err == nil {
		err = k.set(ctx, k.by, p)
	}
	if err != nil {
		if text := f.Policy.Hash() + err.Error(); asked || text != k.refused {
			k.refused = text
			k.log.ErrorContext(ctx, "the policy of the file cannot be put in force; the previous policy stays in force",
				append(k.about(f.Name, k.inForce), "error", err)...)
		}
		return
	}
	k.inForce, k.refused = p, ""
	k.log.InfoContext(ctx, "the policy has changed; new decisions use it", k.about(f.Name, p)...)
	k.logForeign(ctx, p)
}

// logBad logs each mistake of the policy file as a separate record.
func (k *policyKeeper) logBad(ctx context.Context, err error) {
	const message = "the policy file cannot be used; the previous policy stays in force"
	about := k.about(k.watcher.File().Name, k.inForce)
	problems, ok := errors.AsType[policyfile.Problems](err)
	if !ok {
		k.log.ErrorContext(ctx, message, append(about, "error", err)...)
		return
	}
	for _, p := range problems {
		k.log.ErrorContext(ctx, message, append(slices.Clip(about), "problem", p.String())...)
	}
}

func (k *policyKeeper) about(file string, p *policy.Policy) []any {
	return []any{"file", file, "policy", p.Name(), "hash", policy.ShortHash(p.Hash())}
}

// logForeign logs the queues and kinds that the policy names and the configuration does not
// have.
func (w *worker) logForeign(ctx context.Context, p *policy.Policy) {
	for _, line := range foreign(p.Spec(), w.Config) {
		w.log.WarnContext(ctx, "the policy names a queue or a kind that is not in the configuration", "policy", p.Name(), "problem", line)
	}
}

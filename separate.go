package redrive

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/gob"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// SeparateRun is the last chance of a job, which gets a process of its own; see Config.Separate.
type SeparateRun struct {
	ID   job.ID
	Kind string
	Data []byte // what Client.RunSeparate needs to know, with the payload of the job; one line of text
}

// separateRun is the content of SeparateRun.Data.
type separateRun struct {
	Holder string // the name of the process that has claimed the job; the lease keeps this name
	Claim  job.Claim
	Age    time.Duration // the time since the claim, when the other process was started
	At     time.Time     // when the other process was started
}

// separate calls Config.Separate for the run of a claim.
func (c *Client) separate(ctx context.Context, claim *job.Claim, age time.Duration) error {
	var data bytes.Buffer
	err := gob.NewEncoder(&data).Encode(&separateRun{Holder: c.config.Name, Claim: *claim, Age: age, At: c.config.now()})
	if err != nil {
		return fmt.Errorf("redrive: pass job %d on to another process: %w", claim.ID, err)
	}
	return c.config.Separate(ctx, SeparateRun{ID: claim.ID, Kind: claim.Kind, Data: base64.StdEncoding.AppendEncode(nil, data.Bytes())})
}

// RunSeparate takes over the run of a job from another process, whose Config.Separate has the data. It
// runs this job only, and returns when the run has ended; see Run for the end of ctx. If the other
// process has lost the lease meanwhile, RunSeparate does nothing. The client must have the
// configuration and the handlers of the other process; it shares the entry of the other process in
// Client.Processes.
func (c *Client) RunSeparate(ctx context.Context, data []byte) error {
	s := new(separateRun)
	if err := gob.NewDecoder(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data))).Decode(s); err != nil {
		return invalid(fmt.Errorf("redrive: cannot decode the run from the other process: %w", err))
	}
	// The engine counts the time until the deadline from its own receipt of the claim.
	s.Claim.ClaimedAt = s.Claim.ClaimedAt.Add(s.Age + max(0, c.config.now().Sub(s.At)))
	return c.runUntil(ctx, s, func(ctx context.Context, e *engine.Engine) error { return e.Idle(ctx) })
}

// change makes the configuration of an engine one that runs this job only.
func (s *separateRun) change(config *engine.Config) {
	config.Store = &passedOn{Worker: config.Store, claim: &s.Claim}
	config.Holder, config.Present, config.Separate = s.Holder, nil, nil
}

// passedOn is a store whose first exchange returns the claim of another process, and whose later
// exchanges return no claims.
type passedOn struct {
	store.Worker
	claim *job.Claim // nil after it was returned
}

// Exchange implements store.Worker. The claim is returned with a new lease, if the run still holds
// one.
func (p *passedOn) Exchange(ctx context.Context, x store.Exchange) (out store.Exchanged, err error) {
	wants := len(x.Want) > 0
	x.Want = nil
	if len(x.Settle) > 0 {
		if out, err = p.Worker.Exchange(ctx, x); err != nil {
			return out, err
		}
	}
	out.NextDue, out.Full = store.Never, false
	if p.claim == nil || !wants {
		return out, nil
	}
	status, err := p.Heartbeat(ctx, store.Beat{Lease: x.Lease, Runs: []store.Run{{ID: p.claim.ID, Token: p.claim.Token}}})
	if err != nil {
		return out, err
	}
	if status[0].Held {
		out.Claims = []job.Claim{*p.claim}
	}
	p.claim = nil
	return out, nil
}

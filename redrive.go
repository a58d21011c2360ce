// Package redrive runs jobs durably, and treats a failure as data: each failed run is
// stored with what failed, what was decided about it and why.
//
// A program makes a [Client] on a store, registers a handler for each kind of job,
// enqueues jobs, and runs them:
//
//	const Render = redrive.Kind[RenderArgs]("render")
//
//	client, err := redrive.New(st, nil)
//	redrive.Handle(client, Render, render, nil)
//	receipt, err := client.Enqueue(ctx, Render.New(RenderArgs{Scene: 7}, nil))
//	err = client.Run(ctx)
//
// A handler runs at least once: after a crash it runs again. So its effects on other
// systems should be safe to repeat; [Info.StepKey] and [Info.CompleteTx] help with
// this. The result of the handler decides what happens next: an error is put into a
// class, and the policy says how often and when failures of that class are retried.
// With the marks of package failure, the handler can say more about an error.
package redrive

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Client enqueues jobs and runs them. It is safe for concurrent use, and has no
// goroutines but those of Run and Keep. Its methods, by subject:
//
//	enqueue        Enqueue, EnqueueMany, EnqueueTx, EnqueueManyTx
//	look           Get, List, Failures, Lookup, Latest, Counts, Backlog, Processes
//	live jobs      Cancel, Alter, CancelAll, AlterAll
//	dead letters   DeadLetters, DeadLetter, Groups, DeadStats, Retry, Act, Preview, Original
//	redrives       Redrive, Redrives, GetRedrive, ControlRedrive, WaitRedrive
//	groups, notes  SetGroup, MergeGroups, AddNote, Notes
//	queues         Queues, SetQueue
//	cron           Crons, PauseCron, ResumeCron, RunCron, CronTimes, SetCron, RemoveCron
//	policy         Policy, SetPolicy, StoredPolicies, StoredPolicy
//	notifications  PublishNotify, NotifyRules
//	what happened  Events, EventSpan, Audit, FollowAudit, Series, Due
//
// Programs that serve an API or a page to people use the other ones. Handlers are registered
// with the functions [Handle], [TryHandle] and [HandleRaw]. Three methods run jobs, one does the upkeep of the
// store alone, and two methods act on a client that is running jobs:
//
//	Run            until ctx ends; for a server
//	RunUntilIdle   until no job is due; for a program that a timer starts
//	RunUntilEmpty  until every job has ended, retries included; for a batch program
//	Keep           until ctx ends, without jobs: only the upkeep of the store
//	WaitIdle       waits until a client that runs has nothing to do; for a test
//	Halt           stops a running client without a grace time; for a second signal
type Client struct {
	store  store.Store
	config Config
	ids    *idPool

	enqueueing enqueueChains
	unwrapped  wrappedRun // the shared value of all runs without middleware

	mu       sync.Mutex
	handlers map[string]*handler // the handlers by kind; they do not change after sealed has become true
	sealed   bool                // whether Run has been called
	engine   *engine.Engine      // the engine of the active Run; nil when Run is not active
	keeper   *keeper.Keeper      // the keeper of the active Run or Keep; nil when neither is active
	calls    *outcomeCalls       // the calls of OnOutcome during the active Run; nil without Run or without Config.OnOutcome

	argTypes atomic.Pointer[map[string]reflect.Type] // the types of the arguments of handlers that take JSON, by kind

	setting     sync.Mutex // this mutex is locked while the policy is being replaced; lock it before mu
	policies    atomic.Pointer[policies]
	base        *policy.Policy // the policy that was set, without labels
	labelled    []policy.Label // what people have said about classes, the newest first; see Reclassify
	labelSeen   atomic.Int64   // number of the newest label that is in force
	failedRules logThrottle    // limits the log lines about rules that cannot be evaluated, and about unknown classes
	crons       crons
}

// New makes a client on a store. It makes no call of the store. The error lists all
// mistakes of the configuration, and is an ErrInvalid. A nil config means the defaults.
func New(s store.Store, config *Config) (*Client, error) {
	var c Config
	if config != nil {
		c = *config
	}
	c = c.withDefaults()
	err := c.validate()
	if s == nil {
		err = errors.Join(invalid(errors.New("the store is nil; open a store with sqlite.Open, postgres.Open or memory.New")), err)
	}
	if err != nil {
		return nil, fmt.Errorf("redrive: %w", err)
	}
	client := &Client{
		store: s, config: c, ids: newIDPool(s.ReserveIDs), handlers: make(map[string]*handler),
	}
	p, err := client.underConfig(cmp.Or(c.Policy, policy.Default()))
	if err != nil {
		return nil, fmt.Errorf("redrive: %w", err)
	}
	client.unwrapped.client = client
	client.policies.Store(p)
	client.base = p.set
	if client.enqueueing, err = client.newEnqueueChains(); err != nil {
		return nil, fmt.Errorf("redrive: %w", err)
	}
	if client.crons, err = client.newCrons(); err != nil {
		return nil, fmt.Errorf("redrive: %w", err)
	}
	return client, nil
}

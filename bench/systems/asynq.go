package systems

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/redrive/redrive/bench/agent"
)

func asynqProgram() agent.Program {
	return agent.Program{Modules: []string{"github.com/hibiken/asynq", "github.com/redis/go-redis/v9"}, Open: openAsynq}
}

// asynqType is the type of the benchmark's tasks.
const asynqType = "bench"

// asynqSystem is asynq with its default of keeping nothing of a task that has succeeded.
type asynqSystem struct {
	redis  *redis.Client
	client *asynq.Client
	server *asynq.Server
	work   *agent.Work
}

func openAsynq(_ context.Context, c agent.Config, w *agent.Work) (agent.System, error) {
	to, err := asynq.ParseRedisURI(c.Address)
	if err != nil {
		return nil, err
	}
	options, err := redis.ParseURL(c.Address)
	if err != nil {
		return nil, err
	}
	config := asynq.Config{Concurrency: c.Workers, Logger: silent{}}
	if c.Tuned {
		config.TaskCheckInterval = 10 * time.Millisecond // without this setting an idle server polls only once a second
	}
	return &asynqSystem{
		redis:  redis.NewClient(options),
		client: asynq.NewClient(to),
		server: asynq.NewServer(to, config),
		work:   w,
	}, nil
}

// silent is a logger that discards everything.
type silent struct{}

func (silent) Debug(...any) {}
func (silent) Info(...any)  {}
func (silent) Warn(...any)  {}
func (silent) Error(...any) {}
func (silent) Fatal(...any) {}

// Bulk enqueues one by one from several goroutines, because asynq has no bulk call.
func (a *asynqSystem) Bulk(ctx context.Context, first, n int) error {
	const lanes = 16
	errs := make(chan error, lanes)
	for lane := range lanes {
		go func() {
			for i := first + lane; i < first+n; i += lanes {
				if _, err := a.Enqueue(ctx, i); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	var err error
	for range lanes {
		err = errors.Join(err, <-errs)
	}
	return err
}

func (a *asynqSystem) Enqueue(ctx context.Context, n int) (string, error) {
	payload, err := json.Marshal(a.work.Args(n))
	if err != nil {
		return "", err
	}
	info, err := a.client.EnqueueContext(ctx, asynq.NewTask(asynqType, payload), asynq.MaxRetry(0))
	if err != nil {
		return "", err
	}
	return info.ID, nil
}

func (a *asynqSystem) Start(context.Context) error {
	return a.server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		var args agent.Args
		if err := json.Unmarshal(t.Payload(), &args); err != nil {
			return err
		}
		return a.work.Do(args.N)
	}))
}

func (a *asynqSystem) Stop(context.Context) error {
	a.server.Shutdown()
	return nil
}

func (a *asynqSystem) Unfinished(ctx context.Context) (int, error) {
	n, err := a.Counts(ctx)
	return n.Unfinished, err
}

func (a *asynqSystem) Counts(ctx context.Context) (n agent.Counts, err error) {
	const queue = "asynq:{default}:"
	lines := a.redis.TxPipeline()
	pending, active := lines.LLen(ctx, queue+"pending"), lines.LLen(ctx, queue+"active")
	scheduled, retry := lines.ZCard(ctx, queue+"scheduled"), lines.ZCard(ctx, queue+"retry")
	completed, archived := lines.ZCard(ctx, queue+"completed"), lines.ZCard(ctx, queue+"archived")
	if _, err := lines.Exec(ctx); err != nil {
		return n, fmt.Errorf("count tasks: %w", err)
	}
	return agent.Counts{
		Unfinished: int(pending.Val() + active.Val() + scheduled.Val() + retry.Val()),
		Finished:   int(completed.Val()),
		Dead:       int(archived.Val()),
	}, nil
}

func (a *asynqSystem) Known(ctx context.Context, ids []string) ([]byte, error) {
	states := make(map[string]byte, len(ids))
	lines := a.redis.Pipeline()
	found := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		found[i] = lines.HGet(ctx, "asynq:{default}:t:"+id, "state")
	}
	if _, err := lines.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	for i, answer := range found {
		if state, err := answer.Result(); err == nil {
			states[ids[i]] = agent.StateOf(state == "completed" || state == "archived")
		}
	}
	return agent.LookUp(states, ids), nil
}

func (a *asynqSystem) Durability(ctx context.Context) (string, error) {
	return RedisDurability(ctx, a.redis)
}

// RedisDurability reads the settings that decide what survives the end of a Redis server.
func RedisDurability(ctx context.Context, r *redis.Client) (string, error) {
	var words []string
	for _, name := range []string{"appendonly", "appendfsync"} {
		values, err := r.ConfigGet(ctx, name).Result()
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		words = append(words, name+"="+values[name])
	}
	return strings.Join(words, " "), nil
}

func (a *asynqSystem) Close() error { return errors.Join(a.client.Close(), a.redis.Close()) }

package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// The settings of a retry topic that Init makes.
const (
	retryPartitions = 3
	retryKept       = 7 * 24 * time.Hour
	replicasWanted  = 3
)

// Init makes the retry topic if it is missing, and says whether it did. It never changes a topic.
func Init(ctx context.Context, o *Options) (made bool, err error) {
	if o.Retry == "" {
		return false, errors.New("no retry topic is set: name one")
	}
	client, err := o.client()
	if err != nil {
		return false, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return false, fmt.Errorf("no broker of %v has answered within %s: %w", o.Brokers, answerMax, err)
	}
	replicas := min(replicasWanted, len(brokers))
	text := func(n int64) *string { s := strconv.FormatInt(n, 10); return &s }
	remove := "delete"
	settings := map[string]*string{"cleanup.policy": &remove, "retention.ms": text(retryKept.Milliseconds()), "min.insync.replicas": text(int64(max(1, replicas-1)))}
	if found, err := admin.DescribeTopicConfigs(ctx, o.Topic); err == nil && len(found) > 0 && found[0].Err == nil {
		for _, s := range found[0].Configs {
			if n, err := strconv.ParseInt(s.MaybeValue(), 10, 64); s.Key == "max.message.bytes" && err == nil {
				settings[s.Key] = text(n + headersRoom)
			}
		}
	}
	answer, err := admin.CreateTopic(ctx, retryPartitions, int16(replicas), settings, o.Retry) //nolint:gosec // at most replicasWanted
	if err == nil {
		err = answer.Err
	}
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("make the retry topic %q: %w", o.Retry, err)
	}
	return true, nil
}

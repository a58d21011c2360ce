package config

import (
	"fmt"
	"strings"
)

// FromEnvironment replaces settings of a stream with the preset chat by those of the environment:
// KAFKA_BOOTSTRAP_SERVERS, KAFKA_TOPIC_PRIMARY and KAFKA_TOPIC_RETRY. A stream without a preset does
// not read the environment. It returns an error that names each variable with a wrong value, and the
// bound.
func (s *Stream) FromEnvironment(lookup func(string) (string, bool)) error {
	if s.Preset == "" {
		return nil
	}
	var wrong []string
	if text, ok := lookup("KAFKA_BOOTSTRAP_SERVERS"); ok {
		brokers := strings.Split(text, ",")
		for _, b := range brokers {
			if !isBroker(b) {
				wrong = append(wrong, fmt.Sprintf("KAFKA_BOOTSTRAP_SERVERS has %q: it must be addresses such as kafka-1:9092, separated by commas", b))
			}
		}
		if len(brokers) > brokersMax {
			wrong = append(wrong, fmt.Sprintf("KAFKA_BOOTSTRAP_SERVERS has %d addresses; at most %d are allowed", len(brokers), brokersMax))
		}
		s.Brokers, s.Sources["brokers"] = brokers, "KAFKA_BOOTSTRAP_SERVERS"
	}
	for _, v := range []struct {
		name, setting string
		into          *string
	}{{"KAFKA_TOPIC_PRIMARY", "topic", &s.Topic}, {"KAFKA_TOPIC_RETRY", "retry", &s.Retry}} {
		text, ok := lookup(v.name)
		if !ok {
			continue
		}
		if !isTopic(text) {
			wrong = append(wrong, fmt.Sprintf("%s is %q: it must be the name of a topic, 1 to %d letters, digits and ._-", v.name, text, topicMax))
		}
		*v.into, s.Sources[v.setting] = text, v.name
	}
	if s.Topic == s.Retry {
		wrong = append(wrong, fmt.Sprintf("the topic and the retry topic are both %q; each topic has one use", s.Topic))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return nil
}

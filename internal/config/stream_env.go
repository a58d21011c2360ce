package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/yamlfile"
)

// number is a setting of the preset chat that a variable sets.
type number struct {
	variable, setting string
	least, most       float64
	whole             bool
	preset            string // the value without the variable, if another one of retries is set
}

const deadDays = "dead_days"

var numbers = [...]number{
	{"RETRY_MAX_ATTEMPTS", "retries", 0, 99, true, "5"},
	{"RETRY_BASE_DELAY_SECONDS", "retry_base", 0.001, 86_400, false, "1"},
	{"RETRY_EXPONENTIAL_BASE", "retry_factor", 1, 100, false, "2"},
	{"RETRY_MAX_DELAY_SECONDS", "retry_cap", 0.001, 86_400, false, "300"},
	{"RETRY_JITTER_MAX_SECONDS", "retry_jitter", 0, 3_600, false, "1"},
	{"DLQ_RETENTION_DAYS", deadDays, 1, 3_650, true, ""},
}

// plain matches the numbers that a variable may have.
var plain = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9})?$`)

// NumberNames are the names of Stream.Numbers: retries after the first execution; the base of the waits in seconds, their
// factor, their cap and the largest addition to them in seconds; and the days for which ended dead letters are kept.
func NumberNames() (names []string) {
	for i := range numbers {
		names = append(names, numbers[i].setting)
	}
	return names
}

// numbers reads the variables with numbers.
func (s *Stream) numbers(lookup func(string) (string, bool)) (wrong []string) {
	retries := false
	for i := range numbers {
		n := &numbers[i]
		text, ok := lookup(n.variable)
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if !plain.MatchString(text) || err != nil || value < n.least || value > n.most || n.whole && strings.Contains(text, ".") {
			what := "number"
			if n.whole {
				what = "whole number"
			}
			wrong = append(wrong, fmt.Sprintf("%s is %.40q: it must be a plain decimal %s from %v to %v", n.variable, text, what, n.least, n.most))
			continue
		}
		s.setNumber(n.setting, text, n.variable)
		retries = retries || n.setting != deadDays
	}
	for i := range numbers {
		if n := &numbers[i]; retries && n.preset != "" && s.Numbers[n.setting] == "" {
			s.setNumber(n.setting, n.preset, fromPreset)
		}
	}
	return wrong
}

func (s *Stream) setNumber(setting, text, source string) {
	if s.Numbers == nil {
		s.Numbers = map[string]string{}
	}
	s.Numbers[setting], s.Sources[setting] = text, source
}

// number returns a setting that numbers has read.
func (s *Stream) number(setting string) float64 {
	value, _ := strconv.ParseFloat(s.Numbers[setting], 64) // it was read before
	return value
}

// retry returns the retries of the kinds of the stream, or nil without variables.
func (s *Stream) retry() *Retry {
	if s.Numbers["retries"] == "" {
		return nil
	}
	seconds := func(n float64) time.Duration { return time.Duration(math.Round(n * float64(time.Second))) }
	longest := s.number("retry_cap")
	return &Retry{MaxRetries: int(s.number("retries")), Formula: &RetryFormula{
		First: seconds(min(s.number("retry_base")*s.number("retry_factor"), longest)), Factor: s.number("retry_factor"),
		Cap: seconds(longest), Spread: seconds(s.number("retry_jitter")),
	}}
}

// FromEnvironment replaces settings of the streams by those of the environment, as Stream.FromEnvironment does. Variables for
// retries replace those of the streams' kinds, and DLQ_RETENTION_DAYS replaces Retention.Dead.
func (c *Config) FromEnvironment(lookup func(string) (string, bool)) error {
	var wrong []error
	for _, name := range c.StreamNames {
		s := c.Streams[name]
		if err := s.FromEnvironment(lookup); err != nil {
			wrong = append(wrong, fmt.Errorf("stream %q: %w", name, err))
			continue
		}
		c.Streams[name] = s
		if s.Numbers[deadDays] != "" {
			c.Retention.Dead = time.Duration(s.number(deadDays)) * yamlfile.Day
		}
		for _, kind := range c.kindsOf(&s) {
			if retry := s.retry(); retry != nil {
				k := c.Kinds[kind]
				k.Retry = retry
				c.Kinds[kind] = k
			}
		}
	}
	return errors.Join(wrong...)
}

// kindsOf returns the kinds of a stream that the file defines.
func (c *Config) kindsOf(s *Stream) (kinds []string) {
	for _, name := range c.KindNames {
		if c.Kinds[name].Queue != s.Queue {
			continue
		}
		named := len(s.Kinds) == 0
		for _, kind := range s.Kinds {
			named = named || kind == name
		}
		if named {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

// FromEnvironment replaces settings of a stream with the preset chat by those of the environment:
// KAFKA_BOOTSTRAP_SERVERS, KAFKA_TOPIC_PRIMARY, KAFKA_TOPIC_RETRY, RETRY_MAX_ATTEMPTS, RETRY_BASE_DELAY_SECONDS,
// RETRY_EXPONENTIAL_BASE, RETRY_MAX_DELAY_SECONDS, RETRY_JITTER_MAX_SECONDS, DLQ_RETENTION_DAYS, REDIS_URL, MONGODB_URL and DLQ_COLLECTION. A stream without a preset does
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
	wrong = append(wrong, s.numbers(lookup)...)
	wrong = append(wrong, s.servers(lookup)...)
	if s.Topic == s.Retry {
		wrong = append(wrong, fmt.Sprintf("the topic and the retry topic are both %q; each topic has one use", s.Topic))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return nil
}

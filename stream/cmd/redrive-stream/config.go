package main

import (
	"fmt"
	"os"
	"time"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/suggest"
)

// fromFile fills in what the stream of the configuration says and no flag does. The stream is the one
// named by --name, or the only one.
func (c *flags) fromFile(s *config.Config) error {
	if err := s.FromEnvironment(os.LookupEnv); err != nil {
		return err
	}
	found, ok := s.Streams[c.Name]
	if !ok && len(s.StreamNames) == 1 && c.Name == defaultName {
		c.Name = s.StreamNames[0]
		found, ok = s.Streams[c.Name]
	}
	if !ok {
		switch {
		case c.Topic == "" && len(s.StreamNames) > 0:
			return fmt.Errorf("--name %q: the configuration has no such stream%s", c.Name, suggest.DidYouMean(c.Name, s.StreamNames))
		case c.Topic == "":
			return fmt.Errorf("no topic is named: give --topic, or define a stream under \"streams\" in %s", c.Config)
		case len(c.Brokers) == 0:
			return fmt.Errorf("no broker is named: give --brokers, or $KAFKA_BOOTSTRAP_SERVERS")
		}
		return nil
	}
	if len(c.Brokers) == 0 {
		c.Brokers = found.Brokers
	}
	for _, v := range [...]struct {
		flag *string
		file string
	}{
		{&c.Topic, found.Topic}, {&c.Retry, found.Retry}, {&c.Dead, found.Dead}, {&c.Results, found.Results}, {&c.Compat, found.Compat},
		{&c.Group, found.Group}, {&c.Instance, found.Instance},
	} {
		if *v.flag == "" {
			*v.flag = v.file
		}
	}
	if c.Queue == defaultQueue {
		c.Queue = found.Queue
	}
	if c.Backlog == defaultBacklog {
		c.Backlog = found.Backlog
	}
	if c.MinWait == time.Second {
		c.MinWait = found.MinWait
	}
	if found.Latest {
		c.Start = "latest"
	}
	if len(c.Kind) == 0 {
		for name, kind := range found.Kinds {
			c.Kind = append(c.Kind, name+"="+kind)
		}
	}
	c.Strict, c.Alongside, c.AllowCompacted = c.Strict || found.Strict, c.Alongside || found.Alongside, c.AllowCompacted || found.AllowCompacted
	if t := found.TLS; t != nil && !c.TLS && c.TLSCA == "" && c.TLSCert == "" {
		c.TLS, c.TLSCA, c.TLSCert, c.TLSKey, c.TLSName = true, t.CAFile, t.CertFile, t.KeyFile, t.ServerName
	}
	if l := found.SASL; l != nil && c.SASL == "" {
		c.SASL, c.SASLUser, c.SASLPassword, c.SASLToken, c.SASLInsecure = l.Mechanism, l.User, l.PasswordFile, l.TokenFile, l.Insecure
	}
	c.marks, c.documents = found.Marks, found.Documents
	if len(c.Brokers) == 0 {
		return fmt.Errorf("stream %q: no broker is named: give brokers, --brokers or $KAFKA_BOOTSTRAP_SERVERS", c.Name)
	}
	return nil
}

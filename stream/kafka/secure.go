package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// TLS are the settings of encrypted connections. The zero value trusts the roots of the system.
type TLS struct {
	CAFile            string // PEM file with the certificates that are trusted instead of the system's
	CertFile, KeyFile string // PEM files with the client's certificate and its key; both or none
	ServerName        string // the name in the broker's certificate; default the host of its address
}

// SASL are the settings of a login. Secrets come from files, which are read at each login, so that
// they can be replaced without a restart.
type SASL struct {
	Mechanism    string // one of Mechanisms
	User         string // for all but oauthbearer
	PasswordFile string // for all but oauthbearer; white space at its end is not part of the password
	TokenFile    string // for oauthbearer
	Insecure     bool   // allows a login without TLS to brokers that are not on this machine
}

// Mechanisms are the mechanisms of SASL.
func Mechanisms() []string { return []string{"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"} }

// secured returns the options of the client for TLS and SASL. Its error names every mistake.
func (o *Options) secured() (opts []kgo.Opt, dial *tls.Config, err error) {
	dial, err = o.TLS.config()
	if dial != nil {
		opts = append(opts, kgo.DialTLSConfig(dial))
	}
	mechanism, wrong := o.SASL.mechanism()
	err = errors.Join(err, wrong)
	if s := o.SASL; s != nil && wrong == nil {
		opts = append(opts, kgo.SASL(mechanism))
		if far := o.far(); o.TLS == nil && !s.Insecure && len(far) > 0 {
			err = errors.Join(err, fmt.Errorf("sasl without tls would send the login readably to %s: use tls, or set insecure", strings.Join(far, ", ")))
		}
	}
	return opts, dial, err
}

// far returns the brokers that are not on this machine.
func (o *Options) far() (far []string) {
	for _, broker := range o.Brokers {
		host, _, err := net.SplitHostPort(broker)
		if err != nil {
			host = broker
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			far = append(far, broker)
		}
	}
	return far
}

func (t *TLS) config() (*tls.Config, error) {
	if t == nil {
		return nil, nil //nolint:nilnil // no TLS
	}
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	var mistakes []error
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		c.RootCAs = x509.NewCertPool()
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("tls: ca_file: %w", err))
		} else if !c.RootCAs.AppendCertsFromPEM(text) {
			mistakes = append(mistakes, fmt.Errorf("tls: ca_file %s has no certificate in PEM form", t.CAFile))
		}
	}
	switch {
	case (t.CertFile == "") != (t.KeyFile == ""):
		mistakes = append(mistakes, errors.New("tls: cert_file and key_file belong together: give both or none"))
	case t.CertFile != "":
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("tls: cert_file %s with key_file %s: %w", t.CertFile, t.KeyFile, err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, errors.Join(mistakes...)
}

// mechanism returns the mechanism of the login. The files are read here once, so that a missing one
// is found at the start.
func (s *SASL) mechanism() (sasl.Mechanism, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // no SASL
	}
	login := func(context.Context) (scram.Auth, error) {
		pass, err := secret("password_file", s.PasswordFile)
		return scram.Auth{User: s.User, Pass: pass}, err
	}
	var err error
	if s.Mechanism == "oauthbearer" {
		if _, err = secret("token_file", s.TokenFile); s.User != "" || s.PasswordFile != "" {
			err = errors.Join(err, errors.New("sasl: oauthbearer takes token_file only, without user and password_file"))
		}
	} else {
		if _, err = secret("password_file", s.PasswordFile); s.User == "" {
			err = errors.Join(err, fmt.Errorf("sasl: %s needs a user", s.Mechanism))
		}
	}
	switch s.Mechanism {
	case "plain":
		return plain.Plain(func(ctx context.Context) (plain.Auth, error) {
			a, err := login(ctx)
			return plain.Auth{User: a.User, Pass: a.Pass}, err
		}), err
	case "scram-sha-256":
		return scram.Sha256(login), err
	case "scram-sha-512":
		return scram.Sha512(login), err
	case "oauthbearer":
		return tokens{oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			token, err := secret("token_file", s.TokenFile)
			return oauth.Auth{Token: token}, err
		})}, err
	}
	return nil, fmt.Errorf("sasl: the mechanism %q is not known: use one of %s", s.Mechanism, strings.Join(Mechanisms(), ", "))
}

// tokens is oauthbearer, whose broker says in an answer of its own why it refuses a token.
type tokens struct{ sasl.Mechanism }

// Authenticate implements sasl.Mechanism.
func (t tokens) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	session, first, err := t.Mechanism.Authenticate(ctx, host)
	return answered{session}, first, err //nolint:wrapcheck // the client does
}

type answered struct{ sasl.Session }

// Challenge implements sasl.Session.
func (a answered) Challenge(answer []byte) (bool, []byte, error) {
	if len(answer) > 0 {
		return false, nil, fmt.Errorf("%w: the broker says %.200q", kerr.SaslAuthenticationFailed, answer)
	}
	return a.Session.Challenge(answer) //nolint:wrapcheck // the client does
}

// secret reads a secret from a file. Errors name the file and never what is in it.
func secret(setting, file string) (string, error) {
	if file == "" {
		return "", fmt.Errorf("sasl: %s is missing: name the file with the secret", setting)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("sasl: %s: %w", setting, err)
	}
	found := strings.TrimRight(string(text), "\r\n\t ")
	if found == "" {
		return "", fmt.Errorf("sasl: %s %s is empty", setting, file)
	}
	return found, nil
}

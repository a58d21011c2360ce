//go:build unix

package servers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Kafka is a private Apache Kafka of one node, which is broker and controller.
type Kafka struct {
	home   *home
	daemon *daemon
	port   int
	java   string
	jars   string
	config string
	users  map[string]string
	secure int // port of the listener with TLS and SASL
}

// StartKafka starts a broker with the jars in a directory, which kafka/kafka.sh prints. With users,
// by name their passwords, it has a second listener with TLS and SASL: plain, scram-sha-512, and oauthbearer with unsigned tokens. They
// have the rights that ACLs give them; clients of the first listener have all. The error is
// [ErrMissing] where Java is not installed.
func StartKafka(ctx context.Context, jars string, users map[string]string) (*Kafka, error) {
	java, err := find("java", "openjdk-17-jre-headless")
	if err != nil {
		return nil, err
	}
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	k := &Kafka{home: h, java: java, jars: filepath.Join(jars, "*"), users: users}
	if err = k.format(); err == nil {
		err = k.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a private Kafka: %w", err), h.remove())
	}
	return k, nil
}

// format writes the configuration and prepares the directory of the logs.
func (k *Kafka) format() (err error) {
	if k.port, err = freePort(); err != nil {
		return err
	}
	controller, err := freePort()
	if err != nil {
		return err
	}
	const text = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:%[2]d
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
advertised.listeners=PLAINTEXT://127.0.0.1:%[1]d
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=%[3]s
auto.create.topics.enable=false
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
broker.session.timeout.ms=3000
num.network.threads=2
num.io.threads=2
log.retention.check.interval.ms=5000
`
	settings := fmt.Sprintf(text, k.port, controller, filepath.Join(k.home.dir, "logs"))
	args := []string{"-XX:TieredStopAtLevel=1", "-cp", k.jars, "kafka.tools.StorageTool", "format", "-t", "cmVkcml2ZS10ZXN0LTAwMQ"}
	if len(k.users) > 0 {
		more, err := k.secureListener()
		if err != nil {
			return err
		}
		settings = strings.NewReplacer(",CONTROLLER://", fmt.Sprintf(",SECURE://127.0.0.1:%d,CONTROLLER://", k.secure),
			fmt.Sprintf("advertised.listeners=PLAINTEXT://127.0.0.1:%d", k.port), fmt.Sprintf("advertised.listeners=PLAINTEXT://127.0.0.1:%d,SECURE://127.0.0.1:%d", k.port, k.secure),
			"CONTROLLER:PLAINTEXT", "CONTROLLER:PLAINTEXT,SECURE:SASL_SSL").Replace(settings) + more
		for user, password := range k.users {
			args = append(args, "--add-scram", fmt.Sprintf("SCRAM-SHA-512=[name=%s,password=%s]", user, password))
		}
	}
	if k.config, err = k.home.write("server.properties", settings); err != nil {
		return err
	}
	return k.home.run(k.java, append(args, "-c", k.config)...)
}

// secureListener makes a certificate and returns the settings of the listener with TLS and SASL.
func (k *Kafka) secureListener() (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	k.secure = port
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kafka"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err != nil {
		return "", err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	if _, err := k.home.write("ca.pem", string(ca)); err != nil {
		return "", err
	}
	store, err := k.home.write("keystore.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))+string(ca))
	if err != nil {
		return "", err
	}
	var logins strings.Builder
	for user, password := range k.users {
		fmt.Fprintf(&logins, " user_%s=%q", user, password)
	}
	return fmt.Sprintf(`ssl.keystore.type=PEM
ssl.keystore.location=%s
listener.name.secure.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512,OAUTHBEARER
listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required%s;
listener.name.secure.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secure.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`, store, logins.String()), nil
}

// Start starts the broker again after Kill, with its data.
func (k *Kafka) Start(ctx context.Context) (err error) {
	k.daemon, err = k.home.start(ctx, &program{
		path: k.java, death: syscall.SIGKILL, ready: "Kafka Server started",
		args: []string{"-Xms256m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-cp", k.jars, "kafka.Kafka", k.config},
	})
	return err
}

// Kill kills the broker as a power cut of its process.
func (k *Kafka) Kill() error { return k.daemon.stop(syscall.SIGKILL) }

// Address returns the broker's host and port.
func (k *Kafka) Address() string { return fmt.Sprintf("127.0.0.1:%d", k.port) }

// Secure returns the host and port of the listener with TLS and SASL, and the file with its certificate.
func (k *Kafka) Secure() (address, caFile string) {
	return fmt.Sprintf("127.0.0.1:%d", k.secure), filepath.Join(k.home.dir, "ca.pem")
}

// Close stops the broker and removes its data.
func (k *Kafka) Close() error { return errors.Join(k.daemon.stop(syscall.SIGKILL), k.home.remove()) }

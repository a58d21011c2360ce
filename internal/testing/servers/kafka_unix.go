//go:build unix

package servers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// Kafka is a private Apache Kafka of one node, which is broker and controller.
type Kafka struct {
	home   *home
	daemon *daemon
	port   int
	java   string
	jars   string
	config string
}

// StartKafka starts a broker with the jars in a directory, which kafka/kafka.sh prints. The error
// is [ErrMissing] where Java is not installed.
func StartKafka(ctx context.Context, jars string) (*Kafka, error) {
	java, err := find("java", "openjdk-17-jre-headless")
	if err != nil {
		return nil, err
	}
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	k := &Kafka{home: h, java: java, jars: filepath.Join(jars, "*")}
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
	k.config, err = k.home.write("server.properties", fmt.Sprintf(text, k.port, controller, filepath.Join(k.home.dir, "logs")))
	if err != nil {
		return err
	}
	return k.home.run(k.java, "-XX:TieredStopAtLevel=1", "-cp", k.jars, "kafka.tools.StorageTool", "format", "-t", "cmVkcml2ZS10ZXN0LTAwMQ", "-c", k.config)
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

// Close stops the broker and removes its data.
func (k *Kafka) Close() error { return errors.Join(k.daemon.stop(syscall.SIGKILL), k.home.remove()) }

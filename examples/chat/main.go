// Command chat is a chat system on Kafka in small: a backend that produces tasks and streams answers,
// orchestrators that run them with redrive, and the services that they call. README.md describes it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive/internal/testing/servers"
)

const usage = `chat run      starts a broker, the services, two orchestrators and the backend, until SIGINT
chat y5       plays failures, kills and the work of an operator, and says what happened
chat broker   starts a broker with the topics, until SIGINT; its address is printed
chat orchestrator   is one orchestrator; the others start it
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Print(usage)
		return nil
	}
	var s settings
	var jars, listen, brokers string
	flags := flag.NewFlagSet("chat", flag.ExitOnError)
	flags.StringVar(&s.Database, "db", "", "SQLite `file`; default in a temporary folder")
	flags.StringVar(&brokers, "brokers", os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), "brokers to use, instead of a private one")
	flags.StringVar(&jars, "jars", "", "`folder` with the jars of Apache Kafka; default what kafka/kafka.sh says")
	flags.StringVar(&listen, "listen", "127.0.0.1:8080", "address of the backend")
	flags.StringVar(&s.World, "world", "", "address of the services, for an orchestrator")
	flags.StringVar(&s.Name, "name", "", "name of an orchestrator")
	verbose := flags.Bool("v", false, "write the logs of the programs")
	flags.Float64Var(&s.Faster, "faster", 10, "the waits of the policy are divided by this")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if brokers != "" {
		s.Brokers = strings.Split(brokers, ",")
	}
	if s.Verbose = *verbose; !s.Verbose {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	switch args[0] {
	case "orchestrator":
		return orchestrate(ctx, &s)
	case "broker":
		return broker(ctx, &s, jars)
	case "run":
		return all(ctx, &s, jars, listen)
	case "y5":
		return y5(ctx, &s, jars)
	}
	return fmt.Errorf("the command %q is not known:\n%s", args[0], usage)
}

// system is everything that runs: the broker, the services and the orchestrators.
type system struct {
	*settings
	kafka  *servers.Kafka // nil with a broker of somebody else
	world  *world
	procs  map[string]*exec.Cmd
	folder string
}

// startBroker starts a private broker, unless brokers are named, and makes the topics.
func startBroker(ctx context.Context, s *settings, jars string) (*servers.Kafka, error) {
	var k *servers.Kafka
	if len(s.Brokers) == 0 {
		if jars == "" {
			out, err := exec.CommandContext(ctx, "sh", filepath.Join(root(ctx), "kafka", "kafka.sh")).Output()
			if jars = strings.TrimSpace(string(out)); err != nil {
				return nil, fmt.Errorf("no Apache Kafka: %s; or name a broker with -brokers", jars)
			}
		}
		var err error
		if k, err = servers.StartKafka(ctx, jars, nil); err != nil {
			return nil, err
		}
		s.Brokers = []string{k.Address()}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...))
	if err != nil {
		return k, err
	}
	defer client.Close()
	week := "604800000"
	_, err = kadm.NewClient(client).CreateTopics(ctx, 3, 1, map[string]*string{"retention.ms": &week}, primaryTopic, retryTopic)
	return k, err
}

// root returns the folder of the module redrive.
func root(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/redrive/redrive").Output()
	if err != nil {
		return filepath.Join("..", "..")
	}
	return strings.TrimSpace(string(out))
}

func broker(ctx context.Context, s *settings, jars string) error {
	k, err := startBroker(ctx, s, jars)
	if err == nil {
		fmt.Println(strings.Join(s.Brokers, ","))
		<-ctx.Done()
	}
	if k != nil {
		err = errors.Join(err, k.Close())
	}
	return err
}

// startSystem starts the broker, the services and two orchestrators.
func startSystem(ctx context.Context, s *settings, jars string) (*system, error) {
	folder, err := os.MkdirTemp("", "redrive-chat-")
	if err != nil {
		return nil, err
	}
	y := &system{settings: s, procs: map[string]*exec.Cmd{}, folder: folder}
	if s.Database == "" {
		s.Database = filepath.Join(folder, "chat.db")
	}
	if y.kafka, err = startBroker(ctx, s, jars); err != nil {
		return y, err
	}
	if y.world, err = newWorld(ctx); err != nil {
		return y, err
	}
	s.World = y.world.url
	for _, name := range []string{"orchestrator-1", "orchestrator-2"} {
		if err := y.start(name); err != nil {
			return y, err
		}
	}
	return y, nil
}

// start starts an orchestrator in a process of its own.
func (y *system) start(name string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "orchestrator", "-db", y.Database, "-brokers", strings.Join(y.Brokers, ","), //nolint:noctx // close ends it
		"-world", y.World, "-name", name, "-faster", fmt.Sprint(y.Faster), fmt.Sprintf("-v=%v", y.Verbose))
	cmd.Stderr = os.Stderr
	y.procs[name] = cmd
	return cmd.Start()
}

// kill kills an orchestrator as a crash does.
func (y *system) kill(name string) error {
	cmd := y.procs[name]
	if cmd == nil {
		return fmt.Errorf("there is no orchestrator %q", name)
	}
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return err
}

func (y *system) close() error {
	for _, cmd := range y.procs {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	for _, cmd := range y.procs {
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	}
	var err error
	if y.kafka != nil {
		err = y.kafka.Close()
	}
	return errors.Join(err, os.RemoveAll(y.folder))
}

// all runs the whole system until the context ends.
func all(ctx context.Context, s *settings, jars, listen string) error {
	y, err := startSystem(ctx, s, jars)
	if err == nil {
		err = y.serve(ctx, listen)
	}
	if y != nil {
		err = errors.Join(err, y.close())
	}
	return err
}

func (y *system) serve(ctx context.Context, listen string) error {
	_, handler, err := openBackend(ctx, y.settings)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	at := "http://" + listener.Addr().String()
	fmt.Printf("broker %s, topic %s\nask:   curl -d '{\"text\": \"why is the sky blue?\"}' %s/chat\ndead:  curl %s/api/admin/dlq\n", strings.Join(y.Brokers, ","), primaryTopic, at, at)
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

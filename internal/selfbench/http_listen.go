package selfbench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive"
)

const (
	listenJobs     = 1000 // number of listeners that follow jobs
	listenTopics   = 5    // number of jobs that each of them follows
	listenAll      = 5    // number of listeners that follow all jobs
	listenStopped  = 100  // number of listeners that stop reading
	listenRate     = 5000 // jobs a second
	listenTime     = 5 * time.Second
	listenRateMost = 0.9                    // lowest accepted share of the rate without listeners
	listenDelay    = 100 * time.Millisecond // highest accepted p99 from an event to its listener
	listenMemory   = 64 << 10               // highest accepted memory of a listener in bytes
	listenWorkers  = 100
)

// listenerFigures prints what many listeners cost, and how soon they hear of events. The listeners
// are in another process.
func (b *bencher) listenerFigures(ctx context.Context, p *printer, place httpPlace) error {
	var alone, beside, stopped []heardTally
	for range b.load.Rounds {
		for _, round := range []struct {
			into               *[]heardTally
			listeners, stopped bool
		}{{&alone, false, false}, {&beside, true, false}, {&stopped, true, true}} {
			found, err := b.listen(ctx, place, round.listeners, round.stopped)
			if err != nil {
				return err
			}
			fmt.Fprintf(b.log, "%s: %5d listeners: %6.0f jobs/s, %7d events heard, p50 %4d ms, p99 %4d ms, %d resets, %6d bytes a listener\n", place.name,
				found.Listeners, found.Rate, found.Events, found.P50, found.P99, found.Resets, found.Memory)
			*round.into = append(*round.into, found)
		}
	}
	of := func(list []heardTally, value func(*heardTally) float64) float64 {
		var values []float64
		for i := range list {
			values = append(values, value(&list[i]))
		}
		return median(values)
	}
	rate := func(h *heardTally) float64 { return h.Rate }
	p99 := func(h *heardTally) float64 { return float64(h.P99) }
	who := fmt.Sprintf("%d listeners at %d jobs/s, %s", listenJobs+listenAll, listenRate, place.name)
	most := listenDelay.Milliseconds()
	late := func(name string, list []heardTally) error {
		v := of(list, p99)
		return p.print(Figure{name, fmt.Sprintf("< %d ms", most), v, "ms", 0, v < float64(most)})
	}
	resets := func(h *heardTally) float64 { return float64(h.Resets) }
	whole := func(name string, list []heardTally) error {
		v := of(list, resets)
		return p.print(Figure{name, "0", v, "resets", 0, v == 0})
	}
	memory := of(beside, func(h *heardTally) float64 { return float64(h.Memory) })
	return errors.Join(
		p.ratio("rate beside "+who, "jobs/s", of(beside, rate), "without listeners", of(alone, rate), listenRateMost),
		late("event to listener, "+who+", p99", beside),
		whole("events that listeners missed, "+who, beside),
		p.print(Figure{"memory of a listener, " + who, "< 64 KiB", round(memory / 1024), "KiB", 0, memory < listenMemory}),
		p.ratio("rate while some stop reading, "+who, "jobs/s", of(stopped, rate), "without listeners", of(alone, rate), listenRateMost),
		late("event to the others while some stop reading, "+who+", p99", stopped),
		whole("events that the others missed while some stop reading, "+who, stopped),
	)
}

// heardTally is the result of one round. The listeners report a part of it.
type heardTally struct {
	Listeners, Events, Resets int
	P50, P99                  int64 // milliseconds
	Rate                      float64
	Memory                    int64 // bytes of the server for each listener
}

// listen runs jobs at the rate, perhaps beside listeners of which some stop reading.
func (b *bencher) listen(ctx context.Context, place httpPlace, listeners, stopping bool) (found heardTally, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	dir := b.folder()
	site, err := place.open(ctx, dir, listenWorkers)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	firsts, err := reserve(ctx, site.client, int(listenTime.Seconds()*listenRate))
	if err != nil {
		return found, err
	}
	running, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- site.client.Run(running) }()
	defer func() { stop(); err = errors.Join(err, <-ran) }()
	before := heapInUse()
	var others *listeningProcess
	if listeners {
		if others, err = startListening(ctx, site.url, firsts, stopping); err != nil {
			return found, err
		}
		defer others.kill()
	}
	rate, err := b.paced(ctx, site, firsts, listenRate)
	if err != nil || !listeners {
		found.Rate = rate
		return found, err
	}
	memory := heapInUse() - before
	found, err = others.end()
	found.Rate, found.Memory = rate, memory/(listenJobs+listenAll)
	return found, err
}

// reserveStep is the number of ids that are reserved at once.
const reserveStep = 1000

// reserve reserves ids, so that listeners know the jobs before they exist. It returns the first id of
// each batch.
func reserve(ctx context.Context, client *redrive.Client, jobs int) (firsts []redrive.JobID, err error) {
	for range jobs / reserveStep {
		first, err := client.ReserveIDs(ctx, reserveStep)
		if err != nil {
			return nil, err
		}
		for k := 0; k < reserveStep; k += submitBatch {
			firsts = append(firsts, first+redrive.JobID(k))
		}
	}
	return firsts, nil
}

// paced enqueues the batches at the rate and returns how many jobs a second have run.
func (b *bencher) paced(ctx context.Context, site *httpSite, firsts []redrive.JobID, perSecond int) (float64, error) {
	specs := make([]redrive.Spec, submitBatch)
	began := time.Now()
	for i, first := range firsts {
		for k := range specs {
			specs[k] = redrive.NewRaw("noop", b.payload(), nil)
		}
		if _, err := site.client.EnqueueAs(ctx, first, specs); err != nil {
			return 0, err
		}
		pause(ctx, time.Until(began.Add(time.Duration(i+1)*time.Second*submitBatch/time.Duration(perSecond))))
	}
	jobs := int64(len(firsts) * submitBatch)
	for site.ran.Load() < jobs && ctx.Err() == nil {
		pause(ctx, time.Millisecond)
	}
	return float64(jobs) / time.Since(began).Seconds(), ctx.Err()
}

// heapInUse returns the memory of the heap and the stacks that is in use, in bytes.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// listeningProcess is the process with the listeners.
type listeningProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startListening starts the process and waits until all its streams are open.
func startListening(ctx context.Context, url string, firsts []redrive.JobID, stopping bool) (*listeningProcess, error) {
	var streams bytes.Buffer
	for i := range listenJobs {
		fmt.Fprintf(&streams, "%t ", stopping && i < listenStopped)
		for k := range listenTopics {
			at := i*listenTopics + k
			batch := firsts[at*7919%len(firsts)]
			fmt.Fprintf(&streams, "&topic=job:%d", batch+redrive.JobID(at%submitBatch))
		}
		streams.WriteByte('\n')
	}
	for range listenAll {
		streams.WriteString("false &topic=all\n")
		if stopping { // these get more than a connection holds
			streams.WriteString("true &topic=all\n")
		}
	}
	return startClients(ctx, "listen", url, streams.Bytes())
}

// startClients starts a process with clients, one for each line, and waits until all are connected.
func startClients(ctx context.Context, what, url string, clients []byte) (*listeningProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &listeningProcess{cmd: exec.CommandContext(ctx, self, "bench", "child", what, url)}
	l.cmd.Stderr = os.Stderr
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.out = bufio.NewScanner(out)
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := l.in.Write(append(clients, '\n')); err != nil {
		l.kill()
		return nil, err
	}
	if !l.out.Scan() || l.out.Text() != "ready" {
		l.kill()
		return nil, fmt.Errorf("the process with the listeners: got %q, want ready", l.out.Text())
	}
	return l, nil
}

// end ends the listeners and returns what they have heard.
func (l *listeningProcess) end() (found heardTally, err error) {
	err = l.endInto(&found)
	return found, err
}

// endInto ends the process and reads its result.
func (l *listeningProcess) endInto(found any) error {
	if err := l.in.Close(); err != nil {
		return err
	}
	if !l.out.Scan() {
		return errors.New("the process with the listeners has printed no result")
	}
	if err := json.Unmarshal(l.out.Bytes(), found); err != nil {
		return err
	}
	return l.cmd.Wait()
}

func (l *listeningProcess) kill() {
	_ = l.cmd.Process.Kill() // no error check: it may have ended
	_ = l.cmd.Wait()
}

// childListen opens the streams that the input names, one in each line, and an empty line. It prints
// "ready", reads events until its input ends, and prints what it has heard.
func childListen(ctx context.Context, in io.Reader, out io.Writer, url string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := hearing{url: url, client: &http.Client{Transport: &http.Transport{ReadBufferSize: 2 << 10}}}
	lines := bufio.NewScanner(in)
	for lines.Scan() && lines.Text() != "" {
		stop, topics, _ := strings.Cut(lines.Text(), " ")
		if err := h.open(ctx, strings.TrimPrefix(topics, "&"), stop == "true"); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "ready")
	for lines.Scan() {
	}
	pause(ctx, time.Second) // for the last events
	cancel()
	h.all.Wait()
	found := h.delays.read()
	return json.NewEncoder(out).Encode(heardTally{Listeners: h.n, Events: int(found.n()), Resets: int(h.resets.Load()),
		P50: found.at(0.5).Milliseconds(), P99: found.at(0.99).Milliseconds()})
}

// hearing has the streams of a process and what they have brought.
type hearing struct {
	url    string
	client *http.Client
	n      int
	all    sync.WaitGroup
	delays histogram
	resets atomic.Int64
}

// open opens a stream. Unless it stops reading, its events are read until the context ends.
func (h *hearing) open(ctx context.Context, query string, stops bool) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/api/events?"+query, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set(callerHeader, fmt.Sprint("listener ", h.n/10))
	h.n++
	got, err := h.client.Do(r)
	if err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("the stream was answered with %s", got.Status), got.Body.Close())
	}
	h.all.Go(func() {
		defer got.Body.Close()
		if stops {
			<-ctx.Done()
			return
		}
		for lines := bufio.NewScanner(got.Body); lines.Scan(); {
			h.hear(lines.Bytes())
		}
	})
	return nil
}

// hear notes a line of a stream: how long ago the event of a frame happened.
func (h *hearing) hear(line []byte) {
	if bytes.HasPrefix(line, []byte("event: reset")) {
		h.resets.Add(1)
	}
	_, text, found := bytes.Cut(line, []byte(`"at":"`))
	if !found {
		return
	}
	text, _, _ = bytes.Cut(text, []byte(`"`))
	if at, err := time.Parse(time.RFC3339Nano, string(text)); err == nil {
		h.delays.add(time.Since(at))
	}
}

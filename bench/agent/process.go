package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// patience is the time limit for the normal end of an agent.
const patience = 20 * time.Second

// Process is an agent as its parent process sees it. It is safe for concurrent use.
type Process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	hello  Hello
	starts chan Reply // the messages about starts of jobs
	ended  chan struct{}
	stderr *tail

	mu      sync.Mutex
	last    int
	waiting map[int]chan Reply
	err     error // the reason why the agent does not answer requests any more

	// writing is locked while a line is written to the agent. It is not mu, so that the agent's
	// output can still be read when the agent does not read its input.
	writing sync.Mutex
}

// Launch starts the program of cmd as an agent and returns when the agent is set up.
func Launch(ctx context.Context, cmd *exec.Cmd, c Config) (*Process, error) {
	p := &Process{
		cmd: cmd, starts: make(chan Reply, 1<<16), ended: make(chan struct{}), stderr: &tail{},
		waiting: make(map[int]chan Reply),
	}
	ownProcess(cmd)
	cmd.Stderr = p.stderr
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	greeted := make(chan Reply, 1)
	p.waiting[0] = greeted
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	if err := json.NewEncoder(p.in).Encode(c); err != nil {
		return nil, errors.Join(fmt.Errorf("send the configuration to the agent of %s: %w", c.System, err), p.Kill())
	}
	data, err := p.await(ctx, 0, greeted)
	if err == nil {
		err = json.Unmarshal(data, &p.hello)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the system %s: %w", c.System, err), p.Kill())
	}
	return p, nil
}

// Hello returns the agent's answer to its configuration.
func (p *Process) Hello() Hello { return p.hello }

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Starts returns the start messages of jobs, if the configuration asks for them.
func (p *Process) Starts() <-chan Reply { return p.starts }

// read reads the lines of the agent until the agent's output ends, and gives each line to the
// goroutine that waits for it.
func (p *Process) read(out io.Reader) {
	defer close(p.ended)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			_ = p.cmd.Wait() // no error check: the standard error of the agent says more than its exit code
			p.fail(fmt.Errorf("the agent ended: %s", p.stderr))
			return
		}
		var r Reply
		if err := json.Unmarshal(line, &r); err != nil {
			p.fail(fmt.Errorf("read the agent's line %.200q: %w", line, err))
			continue
		}
		if r.At != 0 && r.ID == 0 {
			select {
			case p.starts <- r:
			default: // the message is dropped, because nobody receives start messages
			}
			continue
		}
		p.mu.Lock()
		answer := p.waiting[r.ID]
		delete(p.waiting, r.ID)
		p.mu.Unlock()
		if answer != nil {
			answer <- r
		}
	}
}

func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	for id, answer := range p.waiting {
		answer <- Reply{ID: id, Error: p.err.Error()}
		delete(p.waiting, id)
	}
}

// Ask sends a request and stores the decoded answer in the given value, which may be nil.
func (p *Process) Ask(ctx context.Context, r Request, out any) error {
	answer := make(chan Reply, 1)
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return p.err
	}
	p.last++
	r.ID = p.last
	p.waiting[r.ID] = answer
	p.mu.Unlock()
	if err := p.write(r); err != nil {
		p.mu.Lock()
		delete(p.waiting, r.ID)
		p.mu.Unlock()
		return err
	}
	data, err := p.await(ctx, r.ID, answer)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Do, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

func (p *Process) write(r Request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err = p.in.Write(append(line, '\n'))
	return err
}

func (p *Process) await(ctx context.Context, id int, answer <-chan Reply) (json.RawMessage, error) {
	select {
	case r := <-answer:
		if r.Error != "" {
			return nil, errors.New(r.Error)
		}
		return r.Data, nil
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// Close ends the agent normally, or kills it after a time limit.
func (p *Process) Close() error {
	_ = p.in.Close() // if the agent has ended, its input is already closed
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
		return errors.Join(fmt.Errorf("an agent did not end within %v and was killed", patience), p.Kill())
	}
}

// Kill kills the agent with SIGKILL and waits until it has ended.
func (p *Process) Kill() error {
	_ = p.cmd.Process.Kill() // the agent may have ended already
	<-p.ended
	return nil
}

// tail is a writer that keeps the last part of the written text.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailMax is the size of the kept part in bytes.
const tailMax = 2000

// Write appends to the kept part.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-tailMax):]
	return len(text), nil
}

// String returns the kept text as one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}

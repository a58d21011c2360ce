package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"math/rand"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// nobody is the user that programs run as.
const nobody = 65534

// patience is how long a program may take.
const patience = 5 * time.Second

// maxText is the largest text that is kept, in bytes. The end of a longer one is kept.
const maxText = 1500

var listenConfig net.ListenConfig

// A lab has the servers and sample files that programs are run against.
type lab struct {
	dir     string
	samples map[string]string // extension → a good file
	http    net.Listener
	ports   map[string]int // name of a peer's failure → port
	closers []io.Closer
}

func newLab() (*lab, error) {
	dir, err := os.MkdirTemp("", "srv-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the programs run as another user
		return nil, err
	}
	l := &lab{dir: dir, samples: map[string]string{}, ports: map[string]int{}}
	if err := l.serve(); err != nil {
		return nil, err
	}
	l.makeSamples()
	return l, nil
}

func (l *lab) Close() {
	for _, c := range l.closers {
		_ = c.Close()
	}
	_ = os.RemoveAll(l.dir)
}

// serve starts the HTTP server and one server for each way to fail of a peer.
func (l *lab) serve() error {
	listen := func(handle func(net.Conn)) (int, error) {
		s, err := listenConfig.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		l.closers = append(l.closers, s)
		if handle != nil {
			go func() {
				for {
					c, err := s.Accept()
					if err != nil {
						return
					}
					go handle(c)
				}
			}()
		}
		return s.Addr().(*net.TCPAddr).Port, nil
	}
	closed, err := listenConfig.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.ports["refused"] = closed.Addr().(*net.TCPAddr).Port
	_ = closed.Close()
	l.ports["unknown"] = 9
	for name, handle := range map[string]func(net.Conn){
		"closes": func(c net.Conn) { _ = c.Close() },
		"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"garbage": func(c net.Conn) {
			_, _ = c.Write(noise(256))
			_ = c.Close()
		},
	} {
		if l.ports[name], err = listen(handle); err != nil {
			return err
		}
	}
	l.http, err = listenConfig.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.closers = append(l.closers, l.http)
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, a := range answers {
			if strings.Contains(r.URL.Path, "/"+strconv.Itoa(a.status)+"/") {
				if strings.HasPrefix(a.body, "{") {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(a.status)
				_, _ = io.WriteString(w, a.body)
				return
			}
		}
		w.Header().Set("Content-Length", "100000") // the answer is cut
		_, _ = io.WriteString(w, "half")
	})}
	go func() { _ = server.Serve(l.http) }()
	return nil
}

var (
	inputHole  = regexp.MustCompile(`\{in(?:\.(\w+))?\}`)
	outputHole = regexp.MustCompile(`\{out(?:\.(\w+))?\}`)
	hole       = regexp.MustCompile(`\{(in|out)(\.\w+)?\}|\{(url|host|port)\}`)
)

// breakAll runs one program in all scenarios that its command has a hole for.
func (l *lab) breakAll(n int, p program) []Text {
	name := strings.Fields(p.command)[0]
	if _, err := exec.LookPath(name); err != nil && hole.MatchString(p.command) && !strings.ContainsAny(p.command, ";|(") {
		log.Printf("skipped, because %s is not installed: %s", name, p.command)
		return nil
	}
	dir := filepath.Join(l.dir, strconv.Itoa(n))
	var texts []Text
	round := 0
	do := func(what string, lb label, fill func(dir string) string) {
		langs := []string{"en"}
		if p.langs {
			langs = append(langs, languages...)
		}
		for _, lang := range langs {
			round++
			work := filepath.Join(dir, strconv.Itoa(round))
			if err := os.MkdirAll(work, 0o755); err != nil {
				log.Fatal("capture: ", err)
			}
			_ = os.Chown(work, nobody, nobody)
			text := l.run(work, lang, fill(work))
			_ = os.RemoveAll(work)
			if must := speaks[what]; text == "" || must != nil && (lang == "en" || what == "an unknown option") && !must.MatchString(text) {
				break // the program does not mind, says nothing, or fails for another reason
			}
			source := "run here: " + name + ", " + what
			if lang != "en" {
				source += ", " + lang
			}
			texts = append(texts, Text{ID: fmt.Sprintf("c%08x", hash(text)), Family: p.family, Text: text, Class: lb.class, AlsoOK: lb.also,
				Retriable: lb.retriable, Ambiguous: lb.ambiguous, Source: source})
		}
	}
	file := names[hash(p.command)%uint32(len(names))]
	if m := inputHole.FindStringSubmatch(p.command); m != nil {
		for _, in := range inputs {
			if m[1] == "" && (in.name == "garbage" || in.name == "cut" || in.name == "empty") {
				continue // each content is good
			}
			do(in.name+" input", in.label, func(dir string) string {
				return l.fill(p.command, l.input(dir, in.name, file, m[1]), filepath.Join(dir, "out."+m[1]))
			})
		}
	}
	if m := outputHole.FindStringSubmatch(p.command); m != nil {
		for _, out := range outputs {
			do(out.name+" output", out.label, func(dir string) string {
				in := ""
				if m := inputHole.FindStringSubmatch(p.command); m != nil {
					in = l.samples[m[1]]
				}
				return l.fill(p.command, in, l.output(dir, out.name, file, m[1]))
			})
		}
	}
	if strings.Contains(p.command, "{url}") {
		for _, a := range answers {
			do("HTTP "+strconv.Itoa(a.status), a.label, func(string) string {
				return strings.ReplaceAll(p.command, "{url}", fmt.Sprintf("http://%s/v1/%d/%s", l.http.Addr(), a.status, strings.ReplaceAll(file, " ", "-")))
			})
		}
		do("a cut answer", network, func(string) string {
			return strings.ReplaceAll(p.command, "{url}", fmt.Sprintf("http://%s/v1/%s", l.http.Addr(), strings.ReplaceAll(file, " ", "-")))
		})
		for _, peer := range peers {
			do("a server that is "+peer.name, peer.label, func(string) string {
				return strings.ReplaceAll(p.command, "{url}", fmt.Sprintf("http://%s:%d/v1/%s", l.host(peer.name), l.ports[peer.name], strings.ReplaceAll(file, " ", "-")))
			})
		}
	}
	if strings.Contains(p.command, "{port}") {
		for _, peer := range peers {
			do("a peer that is "+peer.name, peer.label, func(string) string {
				return strings.NewReplacer("{host}", l.host(peer.name), "{port}", strconv.Itoa(l.ports[peer.name])).Replace(p.command)
			})
		}
	}
	if !hole.MatchString(p.command) {
		do("as written", p.label, func(string) string { return p.command })
		return texts
	}
	good := func(dir string) string {
		in := ""
		if m := inputHole.FindStringSubmatch(p.command); m != nil {
			in = l.samples[m[1]]
		}
		return strings.NewReplacer("{url}", fmt.Sprintf("http://%s/v1/", l.http.Addr()), "{host}", "127.0.0.1", "{port}", "9").
			Replace(l.fill(p.command, in, filepath.Join(dir, "out")))
	}
	for _, lim := range limits {
		if inputHole.MatchString(p.command) || outputHole.MatchString(p.command) {
			do("little "+lim.name, lim.label, func(dir string) string { return lim.prefix + good(dir) })
		}
	}
	if !strings.ContainsAny(p.command, "|;><") {
		do("an unknown option", badInput, func(dir string) string { return good(dir) + " --no-such-setting" })
	}
	return texts
}

// parseLabel reads "Class", "Class+" (retriable) or "Class?" (ambiguous), then other classes after "/".
func parseLabel(word string) (label, error) {
	classes := strings.Split(word, "/")
	var lb label
	lb.class = strings.TrimRight(classes[0], "?+")
	marks := classes[0][len(lb.class):]
	lb.ambiguous, lb.retriable = strings.Contains(marks, "?"), strings.Contains(marks, "+")
	lb.also = classes[1:]
	if lb.class == "" || strings.ToUpper(lb.class[:1]) != lb.class[:1] {
		return lb, errors.New("a command without a hole begins with its class")
	}
	return lb, nil
}

func (l *lab) host(peer string) string {
	if peer == "unknown" {
		return "db-2.internal.invalid"
	}
	return "127.0.0.1"
}

func (l *lab) fill(command, in, out string) string {
	quote := func(s string) string { return "'" + s + "'" }
	command = inputHole.ReplaceAllLiteralString(command, quote(in))
	return outputHole.ReplaceAllLiteralString(command, quote(out))
}

// input makes the broken file that a program is to read.
func (l *lab) input(dir, how, name, ext string) string {
	path := filepath.Join(dir, name)
	if ext != "" {
		path += "." + ext
	}
	var err error
	switch how {
	case "missing":
	case "directory":
		err = os.Mkdir(path, 0o755)
	case "denied":
		err = os.WriteFile(path, []byte("secret"), 0o600)
	case "empty":
		err = os.WriteFile(path, nil, 0o644)
	case "garbage":
		err = os.WriteFile(path, noise(3000), 0o644)
	case "cut":
		b, _ := os.ReadFile(l.samples[ext])             // no error check: without a sample the file is empty
		err = os.WriteFile(path, b[:len(b)*3/5], 0o644) //nolint:gosec // the folder is the lab's own
	}
	if err != nil {
		log.Fatal("capture: ", err)
	}
	return path
}

// output makes a place that a program cannot write to.
func (l *lab) output(dir, how, name, ext string) string {
	if ext != "" {
		name += "." + ext
	}
	path := filepath.Join(dir, name)
	var err error
	switch how {
	case "full":
		err = os.Symlink("/dev/full", path)
	case "nodir":
		path = filepath.Join(dir, "results", "2026", name)
	case "directory":
		err = os.Mkdir(path, 0o755)
	case "denied":
		locked := filepath.Join(dir, "archive")
		if err = os.Mkdir(locked, 0o555); err == nil {
			path = filepath.Join(locked, name)
		}
	}
	if err != nil {
		log.Fatal("capture: ", err)
	}
	return path
}

// run runs a command and returns what it printed for people. The text is empty if the command has
// succeeded or taken too long.
func (l *lab) run(dir, lang, command string) string {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8", "LANGUAGE=" + lang, "TERM=dumb", "NO_COLOR=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil || err == nil {
		return ""
	}
	text := stderr.Bytes()
	if len(bytes.TrimSpace(text)) == 0 {
		text = stdout.Bytes()
	}
	return l.clean(dir, string(text))
}

var process = regexp.MustCompile(`bash: line \d+: +\d+ `)

// clean makes a text as it would be elsewhere: the folder is a usual one, and the end of a long text is kept.
func (l *lab) clean(dir, text string) string {
	text = strings.ReplaceAll(text, dir, "/srv/jobs/work")
	text = strings.ReplaceAll(text, l.dir, "/srv/jobs")
	text = strings.ReplaceAll(text, l.http.Addr().String(), "api.shop.example:8080")
	for name, port := range l.ports {
		if name != "unknown" {
			text = strings.ReplaceAll(text, strconv.Itoa(port), strconv.Itoa(5000+int(hash(name)%3000)))
		}
	}
	text = process.ReplaceAllString(text, "bash: line 1: 4711 ")
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	if len(text) > maxText {
		text = text[len(text)-maxText:]
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
		text = strings.ToValidUTF8(text, "")
	}
	return text
}

// noise returns n bytes that are no format, always the same.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.New(rand.NewSource(1)).Read(b) // no error check: Read of a source never fails
	return b
}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

package policyfile

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Watcher holds the policy of a file that may change while the program runs. A valid change
// of the file replaces the policy. A change with mistakes is reported and has no effect. A
// Watcher is safe for concurrent use.
type Watcher struct {
	path    string
	read    func(path string) ([]byte, error)
	current atomic.Pointer[File]

	mu   sync.Mutex // this mutex is locked during a reload
	last []byte     // the content that was parsed last; it may have mistakes
	seen []byte     // the content that the last Look found, if it differs from the content that was parsed last; otherwise nil
	lost bool       // whether the last attempt to read the file failed
}

// Watch loads the file at a path. If the file has mistakes, it returns an error, because
// there is no earlier policy to use.
func Watch(path string) (*Watcher, error) { return watch(path, readFile) }

func watch(path string, read func(path string) ([]byte, error)) (*Watcher, error) {
	w := &Watcher{path: path, read: read}
	if _, err := w.Reload(); err != nil {
		return nil, err
	}
	return w, nil
}

// File returns the policy that is in use.
func (w *Watcher) File() *File { return w.current.Load() }

// Reload reads the file again. Call it when the file is completely written. It reports
// whether the policy has changed. After an error, the policy stays in use. Mistakes are
// returned once for the same content. If the file cannot be read, the error is returned
// once until reading succeeds again. So frequent calls do not repeat the same error.
func (w *Watcher) Reload() (changed bool, err error) { return w.reload(true) }

// Look is like Reload, for callers that poll and may find a file that is still being
// written. It parses new content when two calls in a row have found the same content.
func (w *Watcher) Look() (changed bool, err error) { return w.reload(false) }

func (w *Watcher) reload(complete bool) (changed bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := w.read(w.path)
	if err != nil {
		if w.lost {
			return false, nil
		}
		w.lost = true
		return false, err
	}
	w.lost = false
	if w.last != nil && bytes.Equal(data, w.last) {
		w.seen = nil
		return false, nil
	}
	if !complete && (w.seen == nil || !bytes.Equal(data, w.seen)) {
		w.seen = append([]byte{}, data...) // this makes a slice that is not nil, even if the file is empty
		return false, nil
	}
	w.last, w.seen = append([]byte{}, data...), nil
	f, err := Parse(w.path, data)
	if err != nil {
		return false, err
	}
	before := w.current.Swap(f)
	return before == nil || before.Policy.Hash() != f.Policy.Hash(), nil
}

// Run calls Look at each tick, until ctx ends or the channel is closed. It calls the first
// function with each new policy and the second with each error of Look. Both functions may
// be nil.
func (w *Watcher) Run(ctx context.Context, tick <-chan time.Time, changed func(*File), failed func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, more := <-tick:
			if !more {
				return
			}
		}
		switch again, err := w.Look(); {
		case err != nil && failed != nil:
			failed(err)
		case again && changed != nil:
			changed(w.File())
		}
	}
}

package policyfile

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Watcher holds the policy of a file that may change while it is in use. A
// change that is good takes the place of the policy before it; one with mistakes
// is reported and changes nothing. It is safe for concurrent use.
type Watcher struct {
	path    string
	read    func(path string) ([]byte, error)
	current atomic.Pointer[File]

	mu   sync.Mutex // of one reload
	last []byte     // the content that was judged last, good or not
	seen []byte     // the content of the last look, when it was another one; nil is none
	lost bool       // the file could not be read the last time
}

// Watch loads the file at path, and fails when that has mistakes: there is no
// policy yet to keep.
func Watch(path string) (*Watcher, error) { return watch(path, readFile) }

func watch(path string, read func(path string) ([]byte, error)) (*Watcher, error) {
	w := &Watcher{path: path, read: read}
	if _, err := w.Reload(); err != nil {
		return nil, err
	}
	return w, nil
}

// File returns the policy that holds now.
func (w *Watcher) File() *File { return w.current.Load() }

// Reload reads the file again, for somebody who says that it is complete. It
// returns true when another policy holds since then. Mistakes are returned once
// for each content, the error of a file that cannot be read once until it can:
// whoever calls it often need not count. In both cases the policy stays.
func (w *Watcher) Reload() (changed bool, err error) { return w.reload(true) }

// Look is Reload for those who look now and then, and may find a file that is
// just being written: a content is judged when two looks in a row have found it.
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
		w.seen = append([]byte{}, data...) // not nil, even when the file is empty
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

// Run looks at the file with each tick until the context ends or the ticks do.
// changed is told of each new policy, failed of what Look returns; either may be
// nil.
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

package policyfile

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Watcher holds the policy of a file that may change while it is in use. A valid change
// replaces the policy; a change with mistakes is reported and has no effect. It is safe
// for concurrent use.
type Watcher struct {
	path    string
	read    func(path string) ([]byte, error)
	current atomic.Pointer[File]

	mu   sync.Mutex // held during a reload
	last []byte     // the content that was parsed last, valid or not
	seen []byte     // the content found by the last Look, when it differs from last; nil means none
	lost bool       // whether the file could not be read the last time
}

// Watch loads the file at path. It returns an error when the file has mistakes, because
// there is no earlier policy to keep.
func Watch(path string) (*Watcher, error) { return watch(path, readFile) }

func watch(path string, read func(path string) ([]byte, error)) (*Watcher, error) {
	w := &Watcher{path: path, read: read}
	if _, err := w.Reload(); err != nil {
		return nil, err
	}
	return w, nil
}

// File returns the present policy.
func (w *Watcher) File() *File { return w.current.Load() }

// Reload reads the file again; call it when the file is known to be complete. It
// reports whether the policy has changed. Mistakes are returned once for each content,
// and the error of an unreadable file once until it can be read again, so that frequent
// calls do not repeat them. After an error the policy stays.
func (w *Watcher) Reload() (changed bool, err error) { return w.reload(true) }

// Look is Reload for a caller that polls and may find a file that is just being
// written: a content is parsed when two successive calls have found it.
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
		w.seen = append([]byte{}, data...) // never nil, even when the file is empty
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

// Run calls Look at each tick, until the context ends or tick is closed. It calls
// changed with each new policy, and failed with each error of Look; either may be nil.
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

package memory

// listener is one call of Notify; its address tells two of one channel apart.
type listener struct{ ch chan<- struct{} }

// Notify implements store.Worker.
func (s *Store) Notify(ch chan<- struct{}) (stop func()) {
	l := &listener{ch}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[l] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, l)
	}
}

func (s *Store) notify() {
	for l := range s.listeners {
		select {
		case l.ch <- struct{}{}:
		default: // it has a notice waiting
		}
	}
}

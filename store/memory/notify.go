package memory

// listener is a channel registered by Notify. Each call of Notify makes a new listener, so two
// calls with the same channel have listeners with different addresses.
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
		default: // the channel already contains a notification that nobody has received
		}
	}
}

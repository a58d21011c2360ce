package memory

// listener is one call of Notify or Follow. Its address distinguishes two calls with the same
// channel.
type listener struct{ ch chan<- struct{} }

// Notify implements store.Worker.
func (s *Store) Notify(ch chan<- struct{}) (stop func()) { return s.listen(s.listeners, ch) }

// Follow implements store.Reader.
func (s *Store) Follow(ch chan<- struct{}) (stop func()) { return s.listen(s.followers, ch) }

func (s *Store) listen(in map[*listener]struct{}, ch chan<- struct{}) (stop func()) {
	l := &listener{ch}
	s.mu.Lock()
	defer s.mu.Unlock()
	in[l] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(in, l)
	}
}

// wake sends to all listeners.
func wake(listeners map[*listener]struct{}) {
	for l := range listeners {
		select {
		case l.ch <- struct{}{}:
		default: // the channel already has a notification that was not received yet
		}
	}
}

package proc

// Kill kills the guard process.
func (g *Guard) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.process.Kill(); err != nil {
		return err
	}
	<-g.exited
	return nil
}

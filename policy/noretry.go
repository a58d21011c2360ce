package policy

// NoRetry reports whether the policy says that no failure of a kind is retried, whatever its class:
// Retry is false for the kind, or by default if the kind says nothing.
func (p *Policy) NoRetry(kind string) bool {
	if of := p.spec.Kinds[kind].Retry; of != nil {
		return !*of
	}
	return p.spec.Default.Retry != nil && !*p.spec.Default.Retry
}

package storetest

import (
	"context"

	"github.com/redrive/redrive/store"
)

// bentEndpoints is a broken store: a correct store with changed arguments or answers of the calls
// about webhooks. A nil field changes nothing.
type bentEndpoints struct {
	store.Store
	put   func(*store.Endpoint)
	count func(*store.EndpointCount)
	audit func(*store.Audit)
}

func (s *bentEndpoints) PutEndpoint(ctx context.Context, by store.By, e store.Endpoint) (store.Endpoint, error) {
	if s.put != nil {
		s.put(&e)
	}
	return s.Store.PutEndpoint(ctx, by, e)
}

func (s *bentEndpoints) CountEndpoint(ctx context.Context, name string, n store.EndpointCount) (store.Endpoint, error) {
	if s.count != nil {
		s.count(&n)
	}
	return s.Store.CountEndpoint(ctx, name, n)
}

func (s *bentEndpoints) Audit(ctx context.Context, after int64, limit int) ([]store.Audit, error) {
	rows, err := s.Store.Audit(ctx, after, limit)
	for i := range rows {
		if s.audit != nil {
			s.audit(&rows[i])
		}
	}
	return rows, err
}

func endpointMutants() []mutant {
	with := func(b bentEndpoints) func(store.Store, *Clock) store.Store {
		return func(s store.Store, _ *Clock) store.Store {
			bent := b
			bent.Store = s
			return &bent
		}
	}
	return []mutant{
		{"forgets the ports of an endpoint", "N3_EndpointIsStoredAsItWasPut", with(bentEndpoints{put: func(e *store.Endpoint) { e.Ports = nil }})},
		{"drops the old secret of an endpoint", "N3_RotatedSecretKeepsTheOldOneForATime", with(bentEndpoints{put: func(e *store.Endpoint) { e.KeepOld = 0 }})},
		{"does not see 410", "N3_Trap25_EndpointIsTurnedOffByWhatItAnswers", with(bentEndpoints{count: func(n *store.EndpointCount) { n.Gone = false }})},
		{"does not hear of 410", "N3_Trap25_EndpointThatTurnsOffIsHeardOfOnce", with(bentEndpoints{count: func(n *store.EndpointCount) { n.Gone = false }})},
		{"does not see failures", "N3_Trap25_EndpointIsTurnedOffByWhatItAnswers", with(bentEndpoints{count: func(n *store.EndpointCount) { n.Failing = false }})},
		{"writes a secret into the audit log", "N3_ChangesOfEndpointsAreAuditedWithoutSecrets", with(bentEndpoints{audit: func(a *store.Audit) { a.After += string(signing("a")) }})},
		{"takes http", "N3_EndpointBounds", with(bentEndpoints{put: func(e *store.Endpoint) { e.AllowHTTP = true }})},
	}
}

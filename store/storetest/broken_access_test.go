package storetest

import (
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// bentAccess is a broken store: a correct store with changed arguments or answers of the calls
// about access keys. A nil field changes nothing.
type bentAccess struct {
	store.Store
	clock  *Clock
	put    func(*store.AccessKey)
	by     func(*store.By)
	keys   func([]store.AccessKey) []store.AccessKey
	used   func(s store.Store, clock *Clock, ids []string) []string
	secret func(name *string, fresh []byte)
	dump   func(*store.Dump)
}

func (s *bentAccess) PutKey(ctx context.Context, by store.By, k store.AccessKey) (store.AccessKey, error) {
	if s.put != nil {
		s.put(&k)
	}
	return s.Store.PutKey(ctx, by, k)
}

func (s *bentAccess) SetQueue(ctx context.Context, by store.By, c store.QueueChange) (store.Queue, error) {
	if s.by != nil {
		s.by(&by)
	}
	return s.Store.SetQueue(ctx, by, c)
}

func (s *bentAccess) AccessKeys(ctx context.Context) ([]store.AccessKey, error) {
	list, err := s.Store.AccessKeys(ctx)
	if s.keys != nil && err == nil {
		list = s.keys(list)
	}
	return list, err
}

func (s *bentAccess) UsedKeys(ctx context.Context, ids []string) error {
	if s.used != nil {
		ids = s.used(s.Store, s.clock, ids)
	}
	return s.Store.UsedKeys(ctx, ids)
}

func (s *bentAccess) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	if s.secret != nil {
		s.secret(&name, fresh)
	}
	return s.Store.Secret(ctx, name, fresh)
}

func (s *bentAccess) Dump(ctx context.Context) (*store.Dump, error) {
	d, err := s.Store.Dump(ctx)
	if s.dump != nil && err == nil {
		s.dump(d)
	}
	return d, err
}

func accessMutants() []mutant {
	with := func(b bentAccess) func(store.Store, *Clock) store.Store {
		return func(s store.Store, c *Clock) store.Store {
			bent := b
			bent.Store, bent.clock = s, c
			return &bent
		}
	}
	return []mutant{
		{"forgets the owner of a key", "X2_KeyIsStoredAsItWasPut", with(bentAccess{put: func(k *store.AccessKey) { k.Owner = "" }})},
		{"drops the old secret at once", "X2_RotatedKeyKeepsItsOldHashForATime", with(bentAccess{put: func(k *store.AccessKey) { k.KeepOld = 0 }})},
		{"does not revoke keys", "X2_RevokedKeyStaysRevoked", with(bentAccess{put: func(k *store.AccessKey) { k.RevokedAt = 0 }})},
		{"reports a wrong time of revocation", "X2_RevokedKeyStaysRevoked", with(bentAccess{keys: func(list []store.AccessKey) []store.AccessKey {
			for i := range list {
				list[i].RevokedAt = 0
			}
			return list
		}})},
		{"takes the version that is stored", "X2_ChangeOfAnOldVersionIsRefused", func(s store.Store, _ *Clock) store.Store { return &anyVersion{s} }},
		{"lets the last of two changes win", "X2_OneOfTwoChangesAtOnceIsRefused", func(s store.Store, _ *Clock) store.Store { return &anyVersion{s} }},
		{"writes the hash of a key into the audit log", "X2_ChangesOfKeysAreAudited", func(s store.Store, _ *Clock) store.Store { return &hashInAudit{s} }},
		{"does not record uses", "X2_UseIsRecordedOnceAMinute", with(bentAccess{used: func(store.Store, *Clock, []string) []string { return nil }})},
		{"records each use", "X2_UseIsRecordedOnceAMinute", func(s store.Store, c *Clock) store.Store { return &eachUse{s, c, map[string]job.Micros{}} }},
		{"never forgets a key", "X2_FullStoreForgetsOldKeysOnly", with(bentAccess{put: func(k *store.AccessKey) { k.ExpiresAt = 0 }})},
		{"gives each caller its own secret", "X2_SecretIsOfTheFirstCaller", func(s store.Store, _ *Clock) store.Store { return &ownSecrets{s} }},
		{"has one secret for all names", "X2_SecretIsOfTheFirstCaller", with(bentAccess{secret: func(name *string, _ []byte) { *name = "login" }})},
		{"forgets the way of a person", "Q9_AuditNamesTheWay", with(bentAccess{by: func(by *store.By) { by.Via = "" }})},
	}
}

// anyVersionTries is how often anyVersion tries a change: another call may change the key meanwhile.
const anyVersionTries = 5

// anyVersion is a broken store that changes keys whatever version the caller has seen.
type anyVersion struct{ store.Store }

func (s *anyVersion) PutKey(ctx context.Context, by store.By, k store.AccessKey) (store.AccessKey, error) {
	for try := 1; ; try++ {
		list, err := s.AccessKeys(ctx)
		if err != nil {
			return store.AccessKey{}, err
		}
		for i := range list {
			if list[i].ID == k.ID && k.Version > 0 {
				k.Version = list[i].Version
			}
		}
		stored, err := s.Store.PutKey(ctx, by, k)
		if err == nil || k.Version == 0 || try == anyVersionTries { // the store also refuses changes for other reasons
			return stored, err
		}
	}
}

// hashInAudit is a broken store that writes the hash of a key into its audit log.
type hashInAudit struct{ store.Store }

func (s *hashInAudit) Audit(ctx context.Context, after int64, limit int) ([]store.Audit, error) {
	rows, err := s.Store.Audit(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	keys, err := s.AccessKeys(ctx)
	for i := range rows {
		for _, k := range keys {
			rows[i].After += string(k.Hash)
		}
	}
	return rows, err
}

// eachUse is a broken store that records each use of a key, not one a minute.
type eachUse struct {
	store.Store
	clock *Clock
	uses  map[string]job.Micros
}

func (s *eachUse) UsedKeys(_ context.Context, ids []string) error {
	for _, id := range ids {
		s.uses[id] = job.At(s.clock.Now())
	}
	return nil
}

func (s *eachUse) AccessKeys(ctx context.Context) ([]store.AccessKey, error) {
	list, err := s.Store.AccessKeys(ctx)
	for i := range list {
		list[i].UsedAt = s.uses[list[i].ID]
	}
	return list, err
}

// ownSecrets is a broken store in which the last caller's secret counts.
type ownSecrets struct{ store.Store }

func (s *ownSecrets) Secret(_ context.Context, _ string, fresh []byte) ([]byte, error) {
	return fresh, nil
}

package wire

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// AccessKey is the JSON shape of an access key. It never has a secret or its hash.
type AccessKey struct {
	State string `json:"state"` // active, expired or revoked
	store.AccessKey
}

// AccessKeyOf returns the JSON shape of an access key at a time.
func AccessKeyOf(k *store.AccessKey, now job.Micros) AccessKey {
	a := AccessKey{State: "active", AccessKey: *k}
	switch {
	case k.RevokedAt > 0:
		a.State = "revoked"
	case k.Ended(now) > 0:
		a.State = "expired"
	}
	if k.OldUntil <= now {
		a.OldUntil = 0
	}
	return a
}

// AccessKeysOf returns the JSON shapes of access keys at a time.
func AccessKeysOf(list []store.AccessKey, now job.Micros) []AccessKey {
	out := make([]AccessKey, len(list))
	for i := range list {
		out[i] = AccessKeyOf(&list[i], now)
	}
	return out
}

// NewAccessKey is the JSON shape of a key whose secret was just made. The secret is shown once.
type NewAccessKey struct {
	Key    AccessKey `json:"key"`
	Secret string    `json:"secret"` // the whole key, for the header Authorization: Bearer
}

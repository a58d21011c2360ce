package redrive

import "context"

// PutKey creates an access key (Version 0), or replaces the stored key with the same ID and
// Version. Another Hash rotates the key; RevokedAt revokes it. The store keeps only the hash of a
// key's secret; package server/access makes keys. ErrConflict means that somebody else has changed
// the key meanwhile, or that it is revoked; ErrNotFound that there is no such key.
func (c *Client) PutKey(ctx context.Context, by By, k AccessKey) (AccessKey, error) {
	return c.store.PutKey(ctx, by, k)
}

// AccessKeys returns all access keys, sorted by id, with the revoked and expired ones.
func (c *Client) AccessKeys(ctx context.Context) ([]AccessKey, error) {
	return c.store.AccessKeys(ctx)
}

// UsedKeys records that access keys were used now. The store records a use at most once a minute.
func (c *Client) UsedKeys(ctx context.Context, ids []string) error {
	return c.store.UsedKeys(ctx, ids)
}

// Secret returns random bytes that all processes on the store share, by their name. The first
// caller's fresh bytes are stored; later callers get those. Use it to sign what any process must be
// able to check, such as cookies.
func (c *Client) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	return c.store.Secret(ctx, name, fresh)
}

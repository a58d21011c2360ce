package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

type keysCmd struct {
	List   keysListCmd   `cmd:"" default:"withargs" help:"List access keys; \"keys\" does the same."`
	Create keysCreateCmd `cmd:"" help:"Make an access key and print it once."`
	Rotate keysRotateCmd `cmd:"" help:"Make a new secret for an access key and print it once."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke an access key for ever."`
}

// Help implements kong.HelpProvider.
func (*keysCmd) Help() string {
	return `With an access key a program or a person uses "redrive serve". While the database has no key, everybody on the
server's machine may do everything; from the first key on, every request needs one. The database has only the hashes of
keys, so a key that is lost has to be rotated. The roles:

    submit      add jobs and see them from outside
    work        run jobs over HTTP
    view        see everything but payloads
    operate     view, submit, and act: retry, cancel, change queues
    administer  operate, and keys and purges

    redrive keys create ops --role administer
    redrive keys create shop --role submit --kind thumbnail --expires 90d
    redrive keys rotate shop --keep-old 1h
    redrive keys revoke shop --reason "left"`
}

type keysListCmd struct {
	jsonFlag
	All bool `help:"List revoked and expired keys, too."`
}

func (c *keysListCmd) Run(ctx context.Context, a *app) (err error) {
	_, db, list, err := a.openKeys(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	now := job.At(a.now())
	shown := make([]wire.AccessKey, 0, len(list))
	for _, k := range wire.AccessKeysOf(list, now) {
		if c.All || k.Ended(now) == 0 {
			shown = append(shown, k)
		}
	}
	if c.JSON {
		return a.printJSON(map[string]any{"keys": shown})
	}
	a.printKeys(shown, len(list)-len(shown), a.styleOf(a.stdout))
	return nil
}

func accessKeys(ctx context.Context, client *redrive.Client) ([]redrive.AccessKey, error) {
	list, err := client.AccessKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list access keys: %w", err)
	}
	return list, nil
}

// openKeys opens the database and lists its access keys. The caller closes the database.
func (a *app) openKeys(ctx context.Context) (*redrive.Client, io.Closer, []redrive.AccessKey, error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	list, err := accessKeys(ctx, client)
	if err != nil {
		return nil, nil, nil, errors.Join(err, db.Close())
	}
	return client, db, list, nil
}

func (a *app) printKeys(list []wire.AccessKey, ended int, out style) {
	if len(list) == 0 {
		text := "no keys: everybody on the machine of a server may do everything"
		if ended > 0 {
			text = fmt.Sprintf("no active keys; %s", endedKeys(ended))
		}
		fmt.Fprintln(a.out, out.faint(text))
		return
	}
	t := table{columns: []column{
		{title: "KEY"}, {title: "NAME", loose: true}, {title: "ROLES", loose: true}, {title: "FOR", loose: true}, {title: "STATE"}, {title: "USED"},
	}}
	now := job.At(a.now())
	for i := range list {
		k := &list[i]
		state := k.State
		if state == "active" && k.ExpiresAt > 0 {
			state = "until " + words.Time(k.ExpiresAt)[:10]
		}
		used := "-"
		if k.UsedAt > 0 {
			used = words.Away(k.UsedAt, now)
		}
		t.add(k.ID, k.Name, strings.Join(k.Roles, ","), keyFor(&k.AccessKey), state, used)
	}
	t.print(a.out, out)
	if ended > 0 {
		fmt.Fprintln(a.out, out.faint(endedKeys(ended)))
	}
}

func endedKeys(n int) string {
	if n == 1 {
		return "1 revoked or expired key is listed with --all"
	}
	return fmt.Sprintf("%d revoked or expired keys are listed with --all", n)
}

// keyFor says what a key is restricted to.
func keyFor(k *redrive.AccessKey) string {
	var parts []string
	switch {
	case k.Owner != "":
		parts = append(parts, "owner "+k.Owner)
	case k.Delegate:
		parts = append(parts, "any owner")
	}
	if len(k.Kinds) > 0 {
		parts = append(parts, "kinds "+strings.Join(k.Kinds, ","))
	}
	if len(k.Queues) > 0 {
		parts = append(parts, "queues "+strings.Join(k.Queues, ","))
	}
	return orDash(strings.Join(parts, "; "))
}

type keysCreateCmd struct {
	by
	jsonFlag
	Name     string   `arg:"" help:"Name of the program or person, for the audit log."`
	Role     []string `placeholder:"ROLE" required:"" help:"Role: submit, work, view, operate or administer. Can be repeated."`
	Owner    string   `placeholder:"NAME" help:"Restrict the key to the jobs of an owner. Its only role is submit."`
	Kind     []string `placeholder:"KIND" help:"Restrict submit and work to a kind. Can be repeated."`
	Queue    []string `placeholder:"QUEUE" help:"Restrict submit and work to a queue. Can be repeated."`
	Delegate bool     `help:"The key may act for any owner, named in the header Redrive-Owner."`
	Expires  string   `placeholder:"WHEN" help:"Expire at a time, or after a duration such as 90d. Default: never."`
}

// Help implements kong.HelpProvider.
func (*keysCreateCmd) Help() string {
	return `The first line of the output is the key. It is printed only now; the database has only a hash of it.

    redrive keys create ops --role administer
    KEY=$(redrive keys create shop --role submit --owner ann)
    curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/api/whoami`
}

func (c *keysCreateCmd) Run(ctx context.Context, a *app) (err error) {
	expires, err := future("--expires", c.Expires, a.now())
	if err != nil {
		return err
	}
	if expires > 0 && expires <= job.At(a.now()) {
		return usagef("--expires %s: the time must be in the future", c.Expires)
	}
	id, hash, key := access.NewKey()
	k := redrive.AccessKey{ID: id, Hash: hash, Name: c.Name, Roles: c.Role, Owner: c.Owner, Kinds: c.Kind, Queues: c.Queue, Delegate: c.Delegate, ExpiresAt: expires}
	if err := access.CheckGrant(&k); err != nil {
		grant, _ := errors.AsType[*access.GrantError](err)
		flag, plural := "--"+grant.Field, map[string]string{"roles": "--role", "kinds": "--kind", "queues": "--queue"}
		if f := plural[grant.Field]; f != "" {
			flag = f
		}
		return usagef("%s: %s", flag, grant.Detail)
	}
	d, err := a.database()
	if err != nil {
		return err
	}
	db, err := d.openOrCreate(ctx, a) // the first key may be the first thing in a database
	if err != nil {
		return err
	}
	defer closing(db, &err)
	client, err := db.operator(nil, nil)
	if err != nil {
		return err
	}
	list, err := accessKeys(ctx, client)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Name == c.Name && list[i].Ended(job.At(a.now())) == 0 {
			return usagef("the key %s already has the name %q; use another name, or rotate that key: redrive keys rotate %s", list[i].ID, c.Name, list[i].ID)
		}
	}
	return a.putKey(ctx, client, c.actor(a), k, key, c.JSON)
}

// putKey stores a key with a new secret, and prints both.
func (a *app) putKey(ctx context.Context, client *redrive.Client, by redrive.By, k redrive.AccessKey, secret access.Secret, asJSON bool) error {
	stored, err := client.PutKey(ctx, by, k)
	if err != nil {
		return fmt.Errorf("store the key: %w", err)
	}
	now := job.At(a.now())
	if asJSON {
		return a.printJSON(wire.NewAccessKey{Key: wire.AccessKeyOf(&stored, now), Secret: secret.Reveal()})
	}
	fmt.Fprintln(a.out, secret.Reveal())
	if err := a.out.Flush(); err != nil { // the key comes before the note about it
		return fmt.Errorf("write the key: %w", err)
	}
	note := fmt.Sprintf("key %s (%s): keep it, it is not shown again", stored.ID, words.Clean(stored.Name))
	if stored.OldUntil > now {
		note += "\nthe old secret is accepted until " + words.Time(stored.OldUntil)
	}
	fmt.Fprintln(a.stderr, note)
	return nil
}

// keyArg names an access key by its id, by the beginning of its id, or by its name.
type keyArg struct {
	Key string `arg:"" help:"Id of the key, the beginning of its id, or its name."`
}

// find returns the key.
func (c *keyArg) find(list []redrive.AccessKey, now job.Micros) (redrive.AccessKey, error) {
	var names []string
	var found []redrive.AccessKey
	for i := range list {
		k := list[i]
		if k.ID == c.Key {
			return k, nil
		}
		if k.Ended(now) > 0 {
			continue // an ended key is named by its whole id
		}
		names = append(names, k.Name)
		if k.Name == c.Key || strings.HasPrefix(k.ID, c.Key) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return redrive.AccessKey{}, absentError(suggest.Unknown("key", c.Key, names))
	case 1:
		return found[0], nil
	}
	return redrive.AccessKey{}, usagef("%q means %d keys: give the whole id, as `redrive keys` shows it", c.Key, len(found))
}

type keysRotateCmd struct {
	by
	jsonFlag
	keyArg
	KeepOld span `default:"1d" placeholder:"TIME" help:"Time for which the old secret is accepted, too: 0s to 7d. Default: 1d."`
}

// Help implements kong.HelpProvider.
func (*keysRotateCmd) Help() string {
	return `The first line of the output is the new key. The id, the rights and the name stay. If the key has leaked, use
--keep-old 0s: then servers refuse the old secret within five seconds.

    redrive keys rotate shop
    redrive keys rotate shop --keep-old 0s --reason "was in a log"`
}

func (c *keysRotateCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, list, err := a.openKeys(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	k, err := c.find(list, job.At(a.now()))
	if err != nil {
		return err
	}
	hash, key, err := access.RotatedKey(k.ID)
	if err != nil {
		return usagef("%w; revoke it and make another", err)
	}
	k.Hash, k.KeepOld = hash, time.Duration(c.KeepOld)
	return a.putKey(ctx, client, c.actor(a), k, key, c.JSON)
}

type keysRevokeCmd struct {
	by
	jsonFlag
	keyArg
}

// Help implements kong.HelpProvider.
func (*keysRevokeCmd) Help() string {
	return `Servers refuse the key, and logins by it, within five seconds. A key that was revoked cannot be used again. When the
last key was revoked, servers still need one: make another.

    redrive keys revoke shop --reason "left"`
}

func (c *keysRevokeCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, list, err := a.openKeys(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	now := job.At(a.now())
	k, err := c.find(list, now)
	if err != nil {
		return err
	}
	k.RevokedAt = now
	if k, err = client.PutKey(ctx, c.actor(a), k); err != nil {
		return fmt.Errorf("revoke the key: %w", err)
	}
	if c.JSON {
		return a.printJSON(wire.AccessKeyOf(&k, now))
	}
	_, err = fmt.Fprintf(a.out, "key %s (%s) is revoked\n", k.ID, words.Clean(k.Name))
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

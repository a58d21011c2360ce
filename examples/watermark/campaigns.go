package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The limits of what people enter.
const (
	textMax       = 200  // bytes of a name
	recipientsMax = 1000 // recipients of a campaign
	downloadsMax  = 1_000_000
)

// account is a person who has campaigns.
type account struct{ ID, Name, Email string }

// by names the person in redrive's audit log, and allows only the person's own jobs.
func (p *account) by() redrive.By { return redrive.By{Actor: p.Email, Owner: p.ID} }

// campaign is a row of the table campaigns.
type campaign struct {
	ID, Account, Asset, Name string
	MaxDownloads             int64
	ExpiresAt                int64
	Visible, Invisible       bool
	Batch                    int64
}

// refusal is an answer to a request that cannot be done.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// The texts that the pages promise.
var (
	errUnknown   = &refusal{http.StatusNotFound, "Not found."} // unknown, or not the caller's
	errNotFailed = &refusal{http.StatusBadRequest, "Token is not in a failed state."}
	errEmpty     = &refusal{http.StatusBadRequest, "Campaign has no recipients."}
	errExpired   = &refusal{http.StatusBadRequest, "Campaign has expired."}
)

// refusedBatch turns the refusal of redrive into the texts of the pages.
func refusedBatch(err error) error {
	var r *redrive.BatchRefused
	if !errors.As(err, &r) {
		return err
	}
	switch r.Why {
	case store.BatchIsEmpty:
		return errEmpty
	case store.BatchIsExpired:
		return errExpired
	}
	return refuse(http.StatusBadRequest, "Campaign is busy: %s.", r.Text)
}

const campaignColumns = `id, account, asset, name, max_downloads, expires_at, visible_wm, invisible_wm, batch`

func (c *campaign) fields() []any {
	return []any{&c.ID, &c.Account, &c.Asset, &c.Name, &c.MaxDownloads, &c.ExpiresAt, &c.Visible, &c.Invisible, &c.Batch}
}

// ownCampaign returns a campaign of an account.
func ownCampaign(ctx context.Context, tx *sql.Tx, p *account, id string) (c campaign, err error) {
	err = tx.QueryRowContext(ctx, `SELECT `+campaignColumns+` FROM campaigns WHERE id = ? AND account = ?`, id, p.ID).Scan(c.fields()...)
	return c, known(err)
}

// known turns a missing row into the answer 404.
func known(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errUnknown
	}
	return err
}

// create makes a campaign and its batch, in the state DRAFT.
func (a *app) create(ctx context.Context, p *account, c campaign) (campaign, error) {
	c.Name = strings.TrimSpace(c.Name)
	switch {
	case c.Name == "" || len(c.Name) > textMax:
		return c, refuse(http.StatusBadRequest, "The name of a campaign has 1 to %d bytes.", textMax)
	case c.MaxDownloads < 0 || c.MaxDownloads > downloadsMax:
		return c, refuse(http.StatusBadRequest, "Downloads: 0 for any number, or up to %d.", downloadsMax)
	case c.ExpiresAt != 0 && c.ExpiresAt <= a.now():
		return c, refuse(http.StatusBadRequest, "The campaign would be over already: choose a later time, or none.")
	}
	// A rule for notifications finds the owner's address here.
	c.ID, c.Account = rand.Text(), p.ID
	facts := map[string]string{"owner_name": p.Name, "owner_email": p.Email, "campaign": c.Name}
	if a.base != "" {
		facts["page"] = a.base + "/campaigns/" + c.ID
	}
	attrs, err := json.Marshal(facts)
	if err != nil {
		return c, err
	}
	return c, a.tx(ctx, func(ctx context.Context, tx *sql.Tx, own store.Tx) error {
		if _, err := assetOf(ctx, tx, p, c.Asset); err != nil {
			return err
		}
		b, err := a.client.NewBatchTx(ctx, own, p.by(), redrive.BatchSpec{
			Owner: p.ID, Key: c.ID, Name: c.Name, Attrs: attrs, ExpiresAt: job.Micros(c.ExpiresAt),
		})
		if err != nil {
			return err
		}
		c.Batch = b.ID()
		_, err = tx.ExecContext(ctx, `INSERT INTO campaigns (`+campaignColumns+`, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.ID, c.Account, c.Asset, c.Name, c.MaxDownloads, c.ExpiresAt, c.Visible, c.Invisible, c.Batch, a.now())
		return err
	})
}

// addRecipients adds tokens and the drafts of their jobs. Recipients that the campaign has already are
// left out. The asset may be another one than that of the campaign.
func (a *app) addRecipients(ctx context.Context, p *account, id, asset string, names []string) (added int, err error) {
	for _, name := range names {
		if len(name) > textMax {
			return 0, refuse(http.StatusBadRequest, "A recipient of %d bytes: at most %d are allowed.", len(name), textMax)
		}
	}
	err = a.tx(ctx, func(ctx context.Context, tx *sql.Tx, own store.Tx) error {
		c, err := ownCampaign(ctx, tx, p, id)
		if err != nil {
			return err
		}
		if asset == "" {
			asset = c.Asset
		}
		file, err := assetOf(ctx, tx, p, asset)
		if err != nil {
			return err
		}
		fresh, err := newRecipients(ctx, tx, c.ID, names)
		if err != nil {
			return err
		}
		var specs []redrive.Spec
		var ids []string
		for _, name := range fresh {
			token := rand.Text()
			ids = append(ids, token)
			specs = append(specs, copyKind.New(copyArgs{
				Token: token, Recipient: name, Input: file.Path, Clip: file.Kind == clipFile, Visible: c.Visible, Invisible: c.Invisible,
			}, &redrive.Options{Key: token, Owner: p.ID, Correlation: c.ID, Attrs: map[string]any{"recipient": name}}))
		}
		receipts, err := a.client.BatchHandle(c.Batch).AddTx(ctx, own, specs...)
		if err != nil {
			return refusedBatch(err)
		}
		for i, r := range receipts {
			_, err := tx.ExecContext(ctx, `INSERT INTO tokens (id, campaign, recipient, asset, job) VALUES (?, ?, ?, ?, ?)`, ids[i], c.ID, fresh[i], asset, int64(r.ID))
			if err != nil {
				return err
			}
		}
		added = len(receipts)
		return nil
	})
	return added, err
}

// newRecipients returns the names that a campaign does not have yet.
func newRecipients(ctx context.Context, tx *sql.Tx, campaign string, names []string) (fresh []string, err error) {
	there, err := list(ctx, tx, func(name *string) []any { return []any{name} }, `SELECT recipient FROM tokens WHERE campaign = ?`, campaign)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for _, name := range there {
		seen[name] = true
	}
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !seen[name] {
			seen[name] = true
			fresh = append(fresh, name)
		}
	}
	if len(seen) > recipientsMax {
		return nil, refuse(http.StatusBadRequest, "A campaign has at most %d recipients; make a second campaign.", recipientsMax)
	}
	return fresh, nil
}

// publish publishes the drafts of a campaign, and retries its dead jobs.
func (a *app) publish(ctx context.Context, p *account, id string) error {
	return a.tx(ctx, func(ctx context.Context, tx *sql.Tx, own store.Tx) error {
		c, err := ownCampaign(ctx, tx, p, id)
		if err != nil {
			return err
		}
		if _, err := a.client.BatchHandle(c.Batch).PublishTx(ctx, own, p.by()); err != nil {
			return refusedBatch(err)
		}
		_, err = tx.ExecContext(ctx, `UPDATE campaigns SET published_at = ? WHERE id = ? AND published_at = 0`, a.now(), c.ID)
		return err
	})
}

// retry gives the dead job of a token a new life, and returns the recipient. The campaign goes back to
// PROCESSING in the same transaction. Of two calls at once, the second finds the job alive.
func (a *app) retry(ctx context.Context, p *account, id, token string) (recipient string, err error) {
	err = a.tx(ctx, func(ctx context.Context, tx *sql.Tx, own store.Tx) error {
		c, err := ownCampaign(ctx, tx, p, id)
		if err != nil {
			return err
		}
		var jobID job.ID
		err = tx.QueryRowContext(ctx, `SELECT recipient, job FROM tokens WHERE id = ? AND campaign = ?`, token, c.ID).Scan(&recipient, &jobID)
		if err != nil {
			return known(err)
		}
		j, err := a.client.GetTx(ctx, own, jobID)
		switch {
		case errors.Is(err, redrive.ErrNotFound) || err == nil && j.State != job.Dead: // a draft has no job
			return errNotFailed
		case err != nil:
			return err
		}
		return refusedBatch(a.client.RetryTx(ctx, own, p.by(), jobID))
	})
	return recipient, err
}

// detect enqueues the search for the recipient of a file that somebody has found. The job belongs to
// the batch of the campaign, but does not count in it.
func (a *app) detect(ctx context.Context, p *account, id, name, path string) error {
	return a.tx(ctx, func(ctx context.Context, tx *sql.Tx, own store.Tx) error {
		c, err := ownCampaign(ctx, tx, p, id)
		if err != nil {
			return err
		}
		detection := rand.Text()
		receipt, err := a.client.EnqueueTx(ctx, own, detectKind.New(detectArgs{detection, path}, &redrive.Options{Batch: c.Batch, Owner: p.ID, Correlation: c.ID}))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO detections (id, campaign, name, job) VALUES (?, ?, ?, ?)`, detection, c.ID, name, int64(receipt.ID))
		return err
	})
}

// copyFile is the file of a copy, with what it belongs to.
type copyFile struct {
	path  string
	batch int64
	job   job.ID
}

// download counts a download of a copy, and returns its file.
func (a *app) download(ctx context.Context, token string) (f copyFile, err error) {
	err = a.tx(ctx, func(ctx context.Context, tx *sql.Tx, own store.Tx) error {
		var c campaign
		var downloads int64
		err := tx.QueryRowContext(ctx, `SELECT `+prefixed("c.", campaignColumns)+`, t.output, t.job, t.downloads FROM tokens t JOIN campaigns c ON c.id = t.campaign WHERE t.id = ?`, token).
			Scan(append(c.fields(), &f.path, &f.job, &downloads)...)
		if err != nil {
			return known(err)
		}
		f.batch = c.Batch
		b, err := a.client.BatchHandle(c.Batch).GetTx(ctx, own)
		switch {
		case err != nil:
			return err
		case b.Expired(job.Micros(a.now())):
			return refuse(http.StatusGone, "The campaign has expired.")
		case f.path == "":
			return refuse(http.StatusNotFound, "The copy is not ready.")
		case c.MaxDownloads > 0 && downloads >= c.MaxDownloads:
			return refuse(http.StatusGone, "All downloads of this copy are used up.")
		}
		_, err = tx.ExecContext(ctx, `UPDATE tokens SET downloads = downloads + 1 WHERE id = ?`, token)
		return err
	})
	return f, err
}

// prefixed puts a prefix before each name of a list of columns.
func prefixed(prefix, columns string) string {
	return prefix + strings.ReplaceAll(columns, ", ", ", "+prefix)
}

// parseTime reads the time at which a campaign is over; "" means never.
func parseTime(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04"} { // the second is that of a form, in UTC
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixMicro(), nil
		}
	}
	return 0, refuse(http.StatusBadRequest, "Expires at %.40q: must be a time such as 2026-12-24T18:00 (UTC).", text)
}

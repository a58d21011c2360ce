package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The badges of a token.
const (
	badgePending    = "PENDING"
	badgeProcessing = "PROCESSING"
	badgeActive     = "ACTIVE"
	badgeFailed     = "FAILED"
	badgeConsumed   = "CONSUMED"
	badgeExpired    = "EXPIRED"
)

// tokenView is a row of the table of tokens. It is the data of the event token as well.
type tokenView struct {
	ID         string `json:"token_id"`
	Status     string `json:"status"`
	Progress   int64  `json:"progress"` // in per cent
	RetryCount int    `json:"retry_count"`
	MaxRetries int    `json:"max_retries"`

	Recipient string `json:"-"`
	File      string `json:"-"`
	Error     string `json:"-"` // what the user reads; only if the status is FAILED
	Downloads int64  `json:"-"`
}

// Badge returns the text of the badge.
func (t *tokenView) Badge() string {
	if t.Status == badgeProcessing {
		return fmt.Sprintf("%s (%d %%)", t.Status, t.Progress)
	}
	return t.Status
}

// Attempts returns the text of the badge of attempts, "" before the first retry.
func (t *tokenView) Attempts() string {
	if t.RetryCount == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", t.RetryCount, t.MaxRetries)
}

// tokenRow is what the tables say about a token.
type tokenRow struct {
	id, recipient, file string
	job                 job.ID
	downloads           int64
}

// view returns a token as people see it. The job is nil while the campaign is a draft.
func (a *app) view(c *campaign, b *redrive.Batch, row *tokenRow, j *job.Job) tokenView {
	v := tokenView{ID: row.id, Recipient: row.recipient, File: row.file, Downloads: row.downloads, Status: badgePending, MaxRetries: a.limit}
	if j == nil {
		return v
	}
	// A retry begins after each failed attempt but the last one.
	v.RetryCount = int(j.Counters.Attempts)
	if j.State.Terminal() {
		v.RetryCount--
	}
	v.RetryCount = max(0, min(v.RetryCount, a.limit))
	switch j.State {
	case job.Running:
		v.Status = badgeProcessing
		if j.Progress.Total > 0 {
			v.Progress = 100 * j.Progress.Done / j.Progress.Total
		}
	case job.Completed:
		v.Status = badgeActive
		if c.MaxDownloads > 0 && row.downloads >= c.MaxDownloads {
			v.Status = badgeConsumed
		}
	case job.Dead, job.Cancelled:
		v.Status = badgeFailed
	}
	if b.Expired(job.Micros(a.now())) {
		v.Status = badgeExpired
	}
	return v
}

// detectionView is a row of the table of detections.
type detectionView struct{ ID, Name, State, Result string }

// campaignView is the page of a campaign at one moment.
type campaignView struct {
	campaign
	State      job.BatchState
	Counts     store.BatchCounts
	Drafts     int64
	Tokens     []tokenView
	Detections []detectionView
	After      event.Cursor // the page has everything that happened up to here
}

// Failed returns the number of jobs that have failed, for the banner.
func (v *campaignView) Failed() int64 { return v.Counts.Dead }

// Warns reports whether the page has the banner.
func (v *campaignView) Warns() bool { return v.State == job.BatchPartial || v.State == job.BatchFailed }

const tokenColumns = `t.id, t.recipient, f.name, t.job, t.downloads FROM tokens t JOIN assets f ON f.id = t.asset`

func (t *tokenRow) fields() []any { return []any{&t.id, &t.recipient, &t.file, &t.job, &t.downloads} }

// page reads a campaign in one transaction, so that its badges, banner and counts are of one moment.
func (a *app) page(ctx context.Context, p *account, id string) (v campaignView, err error) {
	if _, v.After, err = a.client.EventSpan(ctx); err != nil {
		return v, err
	}
	err = a.read(ctx, func(tx *sql.Tx, own store.Tx) error {
		if v.campaign, err = ownCampaign(ctx, tx, p, id); err != nil {
			return err
		}
		b, err := a.client.BatchHandle(v.Batch).GetTx(ctx, own)
		if err != nil {
			return err
		}
		v.State, v.Counts, v.Drafts = b.State, b.BatchCounts, b.Drafts
		rows, err := tokenRows(ctx, tx, `t.campaign = ? ORDER BY t.n`, v.ID)
		if err != nil {
			return err
		}
		for i := range rows {
			j, err := a.jobOf(ctx, own, rows[i].job)
			if err != nil {
				return err
			}
			v.Tokens = append(v.Tokens, a.view(&v.campaign, &b, &rows[i], j))
		}
		if err := a.errorsOf(ctx, v.Tokens, rows); err != nil {
			return err
		}
		v.Detections, err = a.detections(ctx, tx, own, v.ID)
		return err
	})
	return v, err
}

// jobOf returns a job, or nil for a draft.
func (a *app) jobOf(ctx context.Context, own store.Tx, id job.ID) (*job.Job, error) {
	j, err := a.client.GetTx(ctx, own, id)
	if errors.Is(err, redrive.ErrNotFound) {
		return nil, nil //nolint:nilnil // a draft has no job
	}
	return &j, err
}

func tokenRows(ctx context.Context, tx *sql.Tx, where string, args ...any) (all []tokenRow, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+tokenColumns+` WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var t tokenRow
		if err := rows.Scan(t.fields()...); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

// errorsOf adds the texts for users to the tokens that have failed.
func (a *app) errorsOf(ctx context.Context, tokens []tokenView, rows []tokenRow) error {
	at := make(map[job.ID]int)
	var ids []job.ID
	for i := range tokens {
		if tokens[i].Status == badgeFailed {
			at[rows[i].job] = i
			ids = append(ids, rows[i].job)
		}
	}
	for len(ids) > 0 {
		n := min(len(ids), job.PageMax)
		failures, err := a.client.Latest(ctx, ids[:n])
		if err != nil {
			return err
		}
		for i := range failures {
			tokens[at[failures[i].Job]].Error = failures[i].UserMessage
		}
		ids = ids[n:]
	}
	return nil
}

func (a *app) detections(ctx context.Context, tx *sql.Tx, own store.Tx, campaign string) (all []detectionView, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, name, job, result FROM detections WHERE campaign = ? ORDER BY n DESC LIMIT 20`, campaign)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var jobs []job.ID
	for rows.Next() {
		var d detectionView
		var id job.ID
		if err := rows.Scan(&d.ID, &d.Name, &id, &d.Result); err != nil {
			return nil, err
		}
		all, jobs = append(all, d), append(jobs, id)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i, id := range jobs {
		j, err := a.jobOf(ctx, own, id)
		if err != nil {
			return nil, err
		}
		if j == nil { // its retention is over
			continue
		}
		if all[i].State = a.word(j.State); j.State != job.Dead {
			continue
		}
		failures, err := a.client.Latest(ctx, []job.ID{id})
		if err != nil {
			return nil, err
		}
		for k := range failures {
			all[i].Result = failures[k].UserMessage
		}
	}
	return all, nil
}

// word returns the policy's word for the state of a job, such as RUNNING.
func (a *app) word(s job.State) string { return a.client.Policy().Spec().Words.State(s, "") }

// campaignLine is a row of the list of campaigns.
type campaignLine struct {
	ID, Name string
	State    job.BatchState
	Counts   store.BatchCounts
}

// campaigns lists the campaigns of an account, the newest first.
func (a *app) campaigns(ctx context.Context, p *account) (all []campaignLine, files []asset, err error) {
	err = a.read(ctx, func(tx *sql.Tx, own store.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT id, name, batch FROM campaigns WHERE account = ? ORDER BY created_at DESC, id LIMIT 100`, p.ID)
		if err != nil {
			return err
		}
		defer rows.Close()
		var batches []int64
		for rows.Next() {
			var line campaignLine
			var batch int64
			if err := rows.Scan(&line.ID, &line.Name, &batch); err != nil {
				return err
			}
			all, batches = append(all, line), append(batches, batch)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for i, id := range batches {
			b, err := a.client.BatchHandle(id).GetTx(ctx, own)
			if err != nil {
				return err
			}
			all[i].State, all[i].Counts = b.State, b.BatchCounts
		}
		files, err = assetsOf(ctx, tx, p)
		return err
	})
	return all, files, err
}

func assetsOf(ctx context.Context, tx *sql.Tx, p *account) (files []asset, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, account, name, path, kind FROM assets WHERE account = ? ORDER BY name, id`, p.ID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var f asset
		if err := rows.Scan(&f.ID, &f.Account, &f.Name, &f.Path, &f.Kind); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, rows.Err()
}

package redrive

import "context"

// Series returns figures over time: how many jobs were enqueued, completed, failed, died and
// so on in each step of the query. Minutes are kept for 30 days and hours for a year. A step
// in which nothing happened has no point.
func (c *Client) Series(ctx context.Context, q SeriesQuery) ([]Point, error) {
	return c.store.Series(ctx, q)
}

// Due returns how many retries fall due in each of the next minutes. The argument is the
// number of these minutes, from 1 to DueMinutesMax.
func (c *Client) Due(ctx context.Context, minutes int) (DueRetries, error) {
	return c.store.Due(ctx, minutes)
}

// Heads returns, for each queue and kind with waiting or retrying jobs, when its oldest due
// job was due and when its first later job is due.
func (c *Client) Heads(ctx context.Context) ([]Head, error) { return c.store.Heads(ctx) }

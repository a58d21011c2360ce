package selfbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redrive/redrive"
)

const (
	pageSize     = 150 << 10 // highest accepted size of a page with 50 rows, in bytes
	overviewSize = 60 << 10  // highest accepted size of the first page
	watchRate    = 10_000    // jobs a second while pages are open
	watchShare   = 0.95      // lowest accepted share of the rate without open pages, for 50 of them
	watchLate    = 2 * time.Second
	badgeRate    = 5_000 // jobs a second while the pages of single jobs are open
	badgeJobs    = 50    // number of these pages
	badgeLate    = 500 * time.Millisecond
)

// watchFigures prints what many open pages cost.
func (b *bencher) watchFigures(ctx context.Context, p *printer, dsn string) error {
	place := placeOf(dsn)
	alone, err := b.watch(ctx, place, 0, 0, watchRate)
	if err != nil {
		return err
	}
	for _, pages := range []int{50, 200} {
		found, err := b.watch(ctx, place, pages, 0, watchRate)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.log, "%s: %d open pages: %.0f jobs/s, alone %.0f; %d updates, the longest wait for one %s\n", place.name, pages, found.Rate, alone.Rate, found.Updates, found.Longest)
		of := fmt.Sprintf("%d open overviews at %d jobs/s, %s", pages, watchRate, place.name)
		if pages == 50 {
			err = p.ratio("rate beside "+of, "jobs/s", found.Rate, "without", alone.Rate, watchShare)
		}
		if err = errors.Join(err, p.below("longest time between two updates of a page, "+of, found.Longest, watchLate)); err != nil {
			return err
		}
	}
	found, err := b.watch(ctx, place, 0, badgeJobs, badgeRate)
	if err != nil {
		return err
	}
	return p.below(fmt.Sprintf("end of a job to its open page at %d jobs/s, %s, p95", badgeRate, place.name), found.Badge, badgeLate)
}

// placeOf returns the store of the figures: SQLite, or PostgreSQL if there is a DSN.
func placeOf(dsn string) httpPlace {
	if dsn != "" {
		return httpPlace{name: "PostgreSQL", dsn: dsn}
	}
	return httpPlace{name: "SQLite"}
}

// pageFigures prints how fast the pages for operators are beside the database with many jobs, and how large they
// are: the p99 and the size of each.
func (b *bencher) pageFigures(ctx context.Context, p *printer, in Seeded) (err error) {
	on := placeOf(in.DSN).name
	if err := Seed(ctx, in, io.Discard, b.log); err != nil {
		return err
	}
	s, err := startSeededServer(ctx, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	r := httpReader{url: s.url, shape: in.shape(), now: s.now}
	for _, row := range []struct {
		path string
		most time.Duration
		size int
	}{
		{"/ui/", readMax, overviewSize}, {"/ui/groups", groupListMax, pageSize}, {"/ui/groups?state=all", groupListMax, pageSize}, {"/ui/groups/{group}", readMax, pageSize},
		{"/ui/jobs", readMax, pageSize}, {"/ui/jobs?state=dead", readMax, pageSize}, {"/ui/jobs?owner={large}", readMax, pageSize}, {"/ui/jobs?text=nowhere", readMax, pageSize}, {"/ui/jobs/{id}", readMax, pageSize},
		{"/ui/dead", readMax, pageSize}, {"/ui/dead?status=pending", readMax, pageSize}, {"/ui/dead?group={group}", readMax, pageSize},
		{"/ui/redrives", readMax, pageSize}, {"/ui/redrives/new?group={group}", readMax, pageSize}, {"/ui/queues", readMax, pageSize}, {"/ui/workers", readMax, pageSize}, {"/ui/audit", readMax, pageSize}, {"/ui/queues/{queue}", readMax, pageSize},
		{"/ui/charts", readMax, pageSize}, {"/ui/charts?window=30d&by=class", readMax, pageSize}, {"/ui/policy", readMax, pageSize}, {"/ui/events", readMax, pageSize}, {"/ui/schedules", readMax, pageSize}, {"/ui/find?q={owner}", readMax, pageSize}, {"/ui/new", readMax, pageSize},
	} {
		largest := 0
		page := read{"GET " + row.path, row.most, func(ctx context.Context, i int) error {
			body, err := r.get(ctx, r.fill(row.path, i))
			largest = max(largest, len(body))
			return err
		}}
		took, err := page.measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", page.name, err)
		}
		fmt.Fprintf(b.log, "%-50s p50 %9.2f ms, p99 %9.2f ms, %7d bytes\n", page.name, milliseconds(took.at(0.5)), milliseconds(took.at(0.99)), largest)
		size := Figure{"largest " + page.name + " on " + on, fmt.Sprintf("< %d KiB", row.size>>10), round(float64(largest) / 1024), "KiB", 0, largest < row.size}
		if err := errors.Join(p.below(fmt.Sprintf("%s beside %d jobs on %s, p99", page.name, r.shape.Jobs(), on), took.at(0.99), row.most), p.print(size)); err != nil {
			return err
		}
	}
	return nil
}

// watch runs jobs at a rate beside open overviews and open pages of jobs. The pages are in another process.
func (b *bencher) watch(ctx context.Context, place httpPlace, overviews, jobs, perSecond int) (found pagesSeen, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	site, err := place.open(ctx, b.folder(), listenWorkers)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	firsts, err := reserve(ctx, site.client, int(listenTime.Seconds())*perSecond)
	if err != nil {
		return found, err
	}
	running, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- site.client.Run(running) }()
	defer func() { stop(); err = errors.Join(err, <-ran) }()
	var pages []byte
	for range overviews {
		pages = append(pages, "/ui/ all\n"...)
	}
	for i := range jobs {
		id := firsts[(i+1)*len(firsts)/(jobs+1)] + redrive.JobID(i%submitBatch)
		pages = fmt.Appendf(pages, "/ui/jobs/%d job:%d\n", id, id)
	}
	others, err := startClients(ctx, "watch", site.url, pages)
	if err != nil {
		return found, err
	}
	defer others.kill()
	rate, err := b.paced(ctx, site, firsts, perSecond)
	if err != nil {
		return found, err
	}
	err = others.endInto(&found)
	found.Rate = rate
	return found, err
}

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/words"
)

const (
	barColumns = 24
	// barEvery is the shortest time between two updates of the progress bar.
	barEvery = 100 * time.Millisecond
)

// bar is a progress bar on a terminal. It shows how much of a file has been enqueued.
type bar struct {
	live
	now     func() time.Time
	total   int64 // size of the file in bytes; 0 if not known
	began   time.Time
	drawnAt time.Time
}

func newBar(a *app, total int64) *bar {
	return &bar{live: live{w: a.stderr, style: a.styleOf(a.stderr)}, now: a.now, total: total, began: a.now()}
}

func (b *bar) set(bytes, jobs int64) {
	now := b.now()
	if now.Sub(b.drawnAt) < barEvery {
		return
	}
	b.drawnAt = now
	b.live.set(barText(bytes, b.total, jobs, now.Sub(b.began)))
}

func (b *bar) end() { b.live.set("") }

// barText returns the text of a progress bar, such as "[######      ]  52%  5,200 jobs
// 12,000/s".
func barText(bytes, total, jobs int64, elapsed time.Duration) string {
	text := words.Count(jobs, "job")
	if seconds := elapsed.Seconds(); seconds > 0 {
		text += fmt.Sprintf("  %s/s", words.Number(int64(float64(jobs)/seconds)))
	}
	if total <= 0 {
		return text
	}
	share := min(1, float64(bytes)/float64(total))
	full := int(share * barColumns)
	return fmt.Sprintf("[%s%s] %3d%%  %s", strings.Repeat("#", full), strings.Repeat(" ", barColumns-full), int(share*100), text)
}

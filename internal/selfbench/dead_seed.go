package selfbench

import (
	"context"
)

// These constants determine how the inserted dead letters are distributed over owners, groups and
// kinds. The distribution is like in a system after a month with many failures.
const (
	deadOwners = 1_000
	deadGroups = 200
	deadKinds  = 20
	deadQueue  = "main"
)

// These statements insert dead letters. ?1 and ?2 are the first and the last number of the
// dead letters, ?3 is a time in µs or a payload. The number of a dead letter determines its
// job and its group; the group determines class, code, kind and message.
const (
	deadRows = `WITH RECURSIVE seq(i) AS (VALUES (?1) UNION ALL SELECT i + 1 FROM seq WHERE i < ?2),
		d AS (SELECT i, ((i - 1) / ` + deadWindow + `) * ` + deadWindow + ` + 1 + ((i - 1) * ` + deadStep + `) % ` + deadWindow + ` AS job, 1 + (i * 7) % 200 AS g FROM seq) `
	// Jobs do not die in the order of their ids, because their waits differ. So the ids of
	// the jobs are permuted within windows of deadWindow dead letters. deadStep is a prime
	// that does not divide deadWindow.
	deadWindow  = `20000`
	deadStep    = `7919`
	deadLetters = `INSERT INTO redrive_dead (death, job, lane, priority, status, revived, reason, class, grp, died_at, token,
		life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at, holder, owner, payload)
		` + deadRows + `SELECT i, job, 1 + g % 20, 2, 0, 0,
		CASE g % 3 WHEN 0 THEN 'non_retriable_error' ELSE 'max_retries_exceeded' END, 'Class' || (g % 10), g, ?3 + i * 1000,
		3, 1, 3, 0, 0, 0, 0, ?3 - 60000000, ?3 - 60000000, ?3 + i * 1000 - 1000000, 'host-4711-0123456789ab',
		'tenant-' || ((i * 7919 + g) % 1000), ?4 FROM d`
	deadFailures = `INSERT INTO redrive_failures (job, token, life, attempt, started_at, ended_at, how, class, code, permanent,
		http, holder, fingerprint, message)
		` + deadRows + `SELECT job, 3, 1, 3, ?3 + i * 1000 - 1000000, ?3 + i * 1000, 'error', 'Class' || (g % 10), 'http.503', 0,
		503, 'host-4711-0123456789ab', 'cause ' || g,
		'fetch https://media.example.com/v2/renditions/' || job || '/preview.mp4: unexpected status 503 Service Unavailable (cause ' || g || ')'
		FROM d ORDER BY job`
	deadGroupRows = `INSERT INTO redrive_groups (id, fingerprint, kind, class, code, message, sample, first_at, last_at, n, pending, entries)
		SELECT g, 'cause ' || g, printf('kind-%02d', g % 20), 'Class' || (g % 10), 'http.503', 'unexpected status 503 (cause ' || g || ')',
		job, first, last, n, n, n FROM (SELECT grp AS g, min(job) AS job, min(died_at) AS first, max(died_at) AS last, count(*) AS n
		FROM redrive_dead INDEXED BY redrive_dead_pending WHERE status = 0 GROUP BY grp)`
	deadCountRows = `INSERT INTO redrive_dead_counts (lane, reason, class, status, n)
		SELECT lane, reason, class, status, count(*) FROM redrive_dead GROUP BY 1, 2, 3, 4`
	deadLaneCounts = `INSERT INTO redrive_counters (lane, state, n) SELECT lane, 5, count(*) FROM redrive_dead GROUP BY 1`
	deadTrends     = `INSERT INTO redrive_trends (grp, at, n)
		SELECT grp, died_at / 3600000000 * 3600000000, count(*) FROM redrive_dead GROUP BY 1, 2`
)

// seedDead creates a database with the given number of pending dead letters. The ids of the jobs
// have a gap if this number is not a multiple of deadWindow.
func seedDead(ctx context.Context, path string, rows int) error {
	return seedFile(ctx, path, func(s *seeder) {
		s.exec(`INSERT INTO redrive_queues (name) VALUES (?)`, deadQueue)
		for k := range deadKinds {
			s.exec(`INSERT INTO redrive_lanes (id, queue, kind, deps) VALUES (?, ?, ?, '')`, 1+k, deadQueue, deadKind(k))
		}
		first := int64(s.now) - int64(rows)*1000 // the last job died at the present time
		for from := 1; from <= rows; from += flatChunk {
			to := min(from+flatChunk-1, rows)
			s.exec(deadLetters, from, to, first, flatPayload)
			s.exec(deadFailures, from, to, first)
		}
		for _, text := range []string{deadGroupRows, deadCountRows, deadLaneCounts, deadTrends} {
			s.exec(text)
		}
		s.next = rows + 20_000
	})
}

func deadKind(k int) string { return flatKind(k) }

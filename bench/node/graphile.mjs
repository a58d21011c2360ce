// Graphile Worker, with the batching that its documents recommend for speed. It
// deletes jobs that have succeeded.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import { serve } from './agent.mjs'

const task = 'bench'
const poolSize = 25
const localQueue = 500

await serve(['graphile-worker', 'pg'], async (config, work) => {
  const logger = new Logger(() => () => {})
  const pool = new pg.Pool({ connectionString: config.address, max: poolSize })
  pool.on('error', () => {})
  const utils = await makeWorkerUtils({ pgPool: pool, logger })
  if (config.create) await utils.migrate()
  const spec = { maxAttempts: 1 }
  let runner
  return {
    bulk: (numbers) => utils.addJobs(numbers.map((n) => ({ identifier: task, payload: work.args(n), ...spec }))),
    enqueue: async (n) => (await utils.addJob(task, work.args(n), spec)).id,
    start: async () => {
      runner = await run({
        preset: {
          worker: {
            connectionString: config.address, concurrentJobs: config.workers, maxPoolSize: poolSize,
            localQueue: { size: localQueue }, completeJobBatchDelay: 0, failJobBatchDelay: 0,
          },
        },
        taskList: { [task]: async (payload) => work.run(payload) },
        crontab: '', noHandleSignals: true, logger,
      })
    },
    stop: () => runner.stop(),
    counts: async () => {
      const { rows } = await pool.query(`SELECT
        count(*) FILTER (WHERE attempts < max_attempts OR locked_at IS NOT NULL)::int AS unfinished,
        count(*) FILTER (WHERE attempts >= max_attempts AND locked_at IS NULL)::int AS dead
        FROM graphile_worker._private_jobs`)
      return { ...rows[0], finished: 0 }
    },
    known: async (ids) => {
      const { rows } = await pool.query(`SELECT id::text, attempts >= max_attempts AND locked_at IS NULL AS over
        FROM graphile_worker._private_jobs`)
      const states = new Map(rows.map((r) => [r.id, r.over ? 'f' : 'u']))
      return ids.map((id) => states.get(String(id)) ?? '-').join('')
    },
    durability: async () => {
      const { rows } = await pool.query(`SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`)
      return `fsync=${rows[0].fsync} synchronous_commit=${rows[0].commit}`
    },
    close: async () => {
      await utils.release()
      await pool.end()
    },
  }
})

// BullMQ, with its defaults: completed and failed jobs are kept.
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { serve } from './agent.mjs'

const name = 'bench'

await serve(['bullmq', 'ioredis'], async (config, work) => {
  const connect = () => new Redis(config.address, { maxRetriesPerRequest: null })
  const connections = [connect(), connect()]
  const queue = new Queue(name, { connection: connections[0] })
  let worker
  await queue.waitUntilReady()
  return {
    bulk: (numbers) => queue.addBulk(numbers.map((n) => ({ name, data: work.args(n) }))),
    enqueue: async (n) => (await queue.add(name, work.args(n))).id,
    start: async () => {
      worker = new Worker(name, async (job) => work.run(job.data), { connection: connections[1], concurrency: config.workers })
      worker.on('error', () => {})
      await worker.waitUntilReady()
    },
    stop: () => worker.close(),
    counts: async () => {
      const c = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized', 'completed', 'failed')
      const { completed, failed, ...others } = c
      return { unfinished: Object.values(others).reduce((a, b) => a + b, 0), finished: completed, dead: failed }
    },
    known: async (ids) => {
      const states = await Promise.all(ids.map((id) => queue.getJobState(id)))
      return states.map((s) => ({ unknown: '-', completed: 'f', failed: 'f' })[s] ?? 'u').join('')
    },
    durability: async () => {
      const words = []
      for (const setting of ['appendonly', 'appendfsync']) {
        words.push(setting + '=' + (await connections[0].config('GET', setting))[1])
      }
      return words.join(' ')
    },
    close: async () => {
      await queue.close()
      for (const c of connections) c.disconnect()
    },
  }
})

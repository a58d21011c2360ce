// The agent's side of the protocol of ../agent: requests are lines of JSON on standard
// input, answers are lines of JSON on standard output.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const bulkStep = 1000

const now = () => Math.round((performance.timeOrigin + performance.now()) * 1e6)
const send = (reply) => process.stdout.write(JSON.stringify(reply) + '\n')

// Work is the handler of all systems: it only counts the runs.
class Work {
  constructor(config) {
    this.config = config
    this.total = 0
    this.ran = new Uint8Array(Math.ceil(config.jobs / 8))
    this.pad = 'x'.repeat(config.payload)
    if (config.ledger) {
      this.acked = openSync(config.ledger + '.acked', 'a', 0o600)
      this.done = openSync(config.ledger + '.ran', 'a', 0o600)
    }
  }

  args(n) {
    const frame = '{"n":,"pad":""}'.length + String(n).length
    return { n, pad: this.pad.slice(0, Math.max(0, this.config.payload - frame)) }
  }

  run({ n }) {
    if (this.config.tell) send({ n, at: now() })
    this.ran[n >> 3] |= 1 << (n & 7)
    if (this.done !== undefined) writeSync(this.done, n + '\n')
    this.total++
    if ((n * 37) % 100 < this.config.failing) {
      const request = ((BigInt(n) + 1n) * 0x9e3779b97f4a7c15n & 0xffffffffffffffffn).toString(16)
      throw new Error(`fetch https://media.example.com/v2/renditions/${40_000_000 + n}/preview.mp4: unexpected status 503 ` +
        `Service Unavailable: upstream connect error or disconnect/reset before headers (request id req_${request})`)
    }
  }

  ack(n, id) {
    if (this.acked !== undefined) writeSync(this.acked, n + ' ' + id + '\n')
  }
}

async function enqueue(system, work, first, n) {
  let next = first
  const producer = async () => {
    while (next < first + n) {
      const k = next++
      work.ack(k, await system.enqueue(k))
    }
  }
  await Promise.all(Array.from({ length: Math.min(work.config.producers, n) }, producer))
  return { at: now() }
}

async function bulk(system, first, n) {
  for (const end = first + n; first < end; first += bulkStep) {
    const numbers = Array.from({ length: Math.min(bulkStep, end - first) }, (_, i) => first + i)
    await system.bulk(numbers)
  }
  return { at: now() }
}

function answer(system, work, r) {
  switch (r.do) {
    case 'bulk': return bulk(system, r.first ?? 0, r.n)
    case 'enqueue': return enqueue(system, work, r.first ?? 0, r.n)
    case 'start': return system.start()
    case 'stop': return system.stop()
    case 'ran': return work.total
    case 'runs': return { total: work.total, ran: Buffer.from(work.ran).toString('base64') }
    case 'unfinished': return system.counts().then((c) => c.unfinished)
    case 'counts': return system.counts()
    case 'known': return system.known(r.ids ?? [])
  }
  throw new Error(`an agent cannot ${r.do}`)
}

const reply = async (id, work) => {
  try {
    send({ id, data: (await work()) ?? null })
  } catch (err) {
    send({ id, error: String(err?.message ?? err) || 'failed' })
  }
}

// versionOf reads the version of an installed package.
const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8')).version

// serve runs an agent until its input ends. open(config, work) sets the system up.
export async function serve(packages, open) {
  let system, work
  for await (const line of createInterface({ input: process.stdin })) {
    const message = JSON.parse(line)
    if (work === undefined) {
      work = new Work(message)
      await reply(0, async () => {
        system = await open(message, work)
        const versions = Object.fromEntries(packages.map((name) => [name, versionOf(name)]))
        return { durability: await system.durability(), versions: { ...versions, node: process.versions.node } }
      })
    } else {
      void reply(message.id, () => answer(system, work, message))
    }
  }
  await system?.close()
  process.exit(0)
}

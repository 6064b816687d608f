import { closeSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { logPath, openEventLog } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import t, { type Test } from 'tap'
import type { VerificationStep } from '../../src/audit/integrity/log-verification.js'
import { addEventCodes } from '../../src/event-store/event-codes.js'
import { verificationsOf } from '../../src/operations/audit/log-verifications.js'
import { eventKeyIn } from '../../src/operations/keys/key-ring.js'
import { markedStore } from '../../src/operations/stores/stores.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { createSealedLog, onCopy, signer } from '../audit/integrity/sealed-log.js'

const keyRing = { current: Buffer.alloc(32, 1) }
const box = createSecretBox(keyRing)
const sealed = await createSealedLog(400, (store) => addEventCodes(store, eventKeyIn(box)))
t.teardown(() => rmSync(sealed, { recursive: true }))

/** Returns the priority of each thread of this process, where 19 is the lowest. */
function niceValues(): number[] {
  const tasks = readdirSync('/proc/self/task')
  const fields = tasks.map((task) =>
    readFileSync(`/proc/self/task/${task}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' '),
  )
  return fields.map((each) => Number(each[16]))
}

async function verify(
  t: Test,
  directory: string,
  { from = 0, onStep = (_: VerificationStep) => {}, signal = new AbortController().signal } = {},
) {
  const store = await openEventLog({ directory, writerThread: false })
  t.teardown(() => store.close())
  const configuration = {
    audit: {
      directory: join(directory, 'audit'),
      isGroupReadable: false,
      origin: undefined,
      copyTo: undefined,
      witnesses: [],
    },
    eventStore: { engine: 'embedded', directory } as const,
  }
  const run = verificationsOf(configuration, keyRing, markedStore(store, box))
  return run(
    { occasion: 'requested', verifier: signer, kept: [], recorded: undefined, mayLag: false, from, stepMs: 0 },
    onStep,
    signal,
  )
}

t.test('verifies the whole log in a thread of the lowest priority, in steps', async (t) => {
  const steps: number[] = []
  let lowest = 0
  const onStep = ({ verified }: VerificationStep) => {
    steps.push(verified)
    if (process.platform === 'linux') lowest = Math.max(lowest, ...niceValues())
  }
  t.match(await verify(t, sealed, { onStep }), { verified: 1_000, treeSize: 1_000, findings: [], count: 0 })
  t.same(steps, [256, 512, 768, 1_000])
  if (process.platform === 'linux') t.equal(lowest, 19)
})

t.test('finds an edit after every step from which it can continue', async (t) => {
  await onCopy(sealed, async (copy) => {
    const db = new Database(logPath(copy))
    db.prepare(`UPDATE events SET body = replace(body, '"TR', '"DE') WHERE position = 900`).run()
    db.close()
    for (const from of [0, 256, 700, 899]) {
      const { findings, verified } = (await verify(t, copy, { from }))!
      t.match(findings[0], { kind: 'log', leafIndex: 899 }, `from ${from}`)
      t.equal(verified, 1_000)
    }
  })
})

t.test('finds a damaged page of the file, and ends early if the signal aborts', async (t) => {
  const stopping = new AbortController()
  t.equal(await verify(t, sealed, { onStep: () => stopping.abort(), signal: stopping.signal }), undefined)
  t.equal(await verify(t, sealed, { signal: AbortSignal.abort() }), undefined)
  await onCopy(sealed, async (copy) => {
    const page = 8_192
    const file = openSync(logPath(copy), 'r+')
    writeSync(file, Buffer.alloc(page, 0xa5), 0, page, Math.floor(statSync(logPath(copy)).size / page / 2) * page)
    closeSync(file)
    t.match((await verify(t, copy))?.findings[0], { kind: 'file', place: 'events.db' })
  })
})

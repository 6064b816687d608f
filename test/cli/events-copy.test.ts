import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { logPath, openEventLog } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import t from 'tap'
import { addEventCodes } from '../../src/event-store/event-codes.js'
import type { Append } from '../../src/event-store/event-store.js'
import { auditKeyOf, startFirstTree } from '../../src/operations/audit/audit-files.js'
import { eventKeyIn, loadMasterKeys } from '../../src/operations/keys/key-ring.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { appendTransfers, seal } from '../audit/integrity/sealed-log.js'
import { wholeLog } from '../support/expected-documents.js'
import { long } from '../support/long.js'
import { runCli as runProcess, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { runCli } from './in-process.js'

t.test('a copy that is killed repeatedly completes and reports its progress', async (t) => {
  const directory = temporaryDirectory(t)
  const [from, to] = [join(directory, 'from'), join(directory, 'to')]
  const total = long ? 40_000 : 10_000
  const source = await openEventLog({ directory: from, writerThread: false })
  for (let at = 0; at < total; at += 1_000) {
    const one = (n: number): Append => ({
      stream: `stream-${n}`,
      expectedRevision: 'no_stream',
      events: [{ id: randomUUID(), type: 'Happened', data: { n }, metadata: {} }],
    })
    await source.appendInOrder(Array.from({ length: 1_000 }, (_, n) => one(at + n)))
  }
  const args = ['events', 'copy', '--from', `embedded:${from}`, '--to', `embedded:${to}`]
  const target = await openEventLog({ directory: to, writerThread: false })
  let stored = 0
  for (const share of long ? [0.1, 0.4, 0.7] : [0.3]) {
    const child = spawn(process.execPath, [program, ...args], { stdio: 'ignore' })
    const exited = once(child, 'exit')
    while ((await target.readStream(`stream-${Math.floor(total * share)}`)).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 2))
    child.kill('SIGKILL')
    await exited
    stored = (await wholeLog(target)).length
    t.ok(stored >= total * share, `killed with ${stored} of ${total}`)
  }
  const { status, stdout, stderr } = await runProcess(directory, args)
  t.equal(status, 0, stderr)
  t.match(stdout, new RegExp(`^events +${total}\nstreams +${total}\ncopied +${total - stored}\nverified +${total}\n$`))
  for (const line of stderr.split('\n').slice(0, -1))
    t.match(line, /^(comparing|copying|verifying): \d+ events, \d{1,2} %, \d+ per second$/)
  t.same(
    (await wholeLog(target)).map(({ id }) => id),
    (await wholeLog(source)).map(({ id }) => id),
  )
  await target.append('stray', 'no_stream', [{ id: randomUUID(), type: 'Stray', data: {}, metadata: {} }])
  const refused = await runCli(directory, args)
  t.match(refused, {
    status: 1,
    stdout: '',
    stderr: /^transferd: stray@0 .* of the target, which the source does not have$/m,
  })
  await target.close()
  await source.close()
})

t.test('rejects wrong usage before it creates anything', async (t) => {
  const directory = temporaryDirectory(t)
  const wrong: [string, string, number, RegExp][] = [
    ['embedded:./a', 'embedded:./b', 1, /there is no log in .*a/],
    ['embedded:./a', 'embedded:a', 2, /--from and --to name the same log/],
    ['./a', 'embedded:./b', 2, /--from is a value without a scheme/],
    ['embedded:./a', 'http://b', 2, /--to is http:/],
  ]
  for (const [from, to, status, message] of wrong) {
    const response = await runCli(directory, ['events', 'copy', '--from', from, '--to', to])
    t.match(response, { status, stdout: '', stderr: message }, `${from} ${to}`)
  }
})

t.test('verifies a log with a tree before copying, and rejects an edited log', async (t) => {
  const directory = temporaryDirectory(t)
  const from = join(directory, 'from')
  const { keys } = loadMasterKeys(from)
  const source = await openEventLog({ directory: from, writerThread: false })
  const box = createSecretBox(keys[0].key)
  const store = addEventCodes(source, eventKeyIn(box))
  await startFirstTree(store, box, undefined)
  await appendTransfers(store, 0, 20)
  await seal(source, from, await auditKeyOf(from, source, box))
  await source.close()
  const copyTo = (to: string) =>
    runCli(directory, ['events', 'copy', '--from', `embedded:${from}`, '--to', `embedded:${join(directory, to)}`])
  t.match(await copyTo('before'), { status: 0 })
  const url = `embedded:${join(directory, 'before')}`
  const copied = {
    ...{ EVENT_STORE_URL: url, READ_MODEL_URL: url },
    TRANSFERD_MASTER_KEY: keys[0].key.toString('hex'),
  }
  t.match(await runCli(directory, ['audit', 'verify'], copied), { status: 1 }, 'the copy has no tree')
  const start = ['audit', 'restart-tree', '--reason', 'moved', '--yes']
  t.match(await runCli(directory, start, copied), { status: 0 }, 'until a person starts one')
  const db = new Database(logPath(from))
  const edited = db.prepare("UPDATE events SET body = replace(body, 'TR7', 'TR8') WHERE body LIKE '%TR7%'").run()
  db.close()
  t.ok(edited.changes > 0)
  t.match(await copyTo('after'), { status: 1, stdout: '', stderr: /does not verify: .*transfer-.*audit verify/ })
  t.notOk(readdirSync(directory).includes('after'), 'no target is created')
})

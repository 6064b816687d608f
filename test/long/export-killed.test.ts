import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { cliJson } from '../cli/in-process.js'
import { temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { openServiceLog } from '../support/service-log.js'

const merchantId = '0f0e3cf9-2f6c-4c8e-9d3b-1f6f7a2a9b10'
const metadata = { actor: 'system:test', $correlationId: 'c', $causationId: 'c' }
const streams = 100
const eventsOfEach = 200

function callbackEvents(trackingId: string) {
  const data = { webhookId: randomUUID(), trackingId, merchantId, at: '2026-11-20T10:00:00.000Z' }
  return Array.from({ length: eventsOfEach }, () => encodeEvent({ type: 'CallbackRequeued', data }, metadata))
}

function contents(directory: string) {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]))
}

t.test('an export that is killed and resumed repeatedly produces the same bytes', async (t) => {
  const directory = temporaryDirectory(t)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--allow-ip', '192.0.2.1']
  await cliJson(directory, 'merchants', 'create', ...shop)
  const store = await openServiceLog(directory)
  const ids = Array.from({ length: streams }, () => randomUUID())
  for (const id of ids) await store.append(`callback-${id}`, 'no_stream', callbackEvents(id))
  await store.close()
  const whole = await cliJson<{ events: number }>(directory, 'audit', 'export', '--out', 'whole/')
  t.ok(whole.events > streams * eventsOfEach)
  let kills = 0
  for (let afterMs = 300; !existsSync(join(directory, 'killed', 'manifest.json')); afterMs += 150) {
    const args = [program, 'audit', 'export', '--out', 'killed/']
    const child = spawn(process.execPath, args, { cwd: directory, env: { PATH: process.env.PATH }, stdio: 'ignore' })
    const killing = setTimeout(() => child.kill('SIGKILL'), afterMs)
    const [status] = (await once(child, 'exit')) as [number | null]
    clearTimeout(killing)
    if (status === null) kills++
    else t.equal(status, 0)
  }
  t.ok(kills > 1, `${kills} times`)
  t.strictSame(contents(join(directory, 'killed')), contents(join(directory, 'whole')))
})

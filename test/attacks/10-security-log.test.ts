import { randomBytes } from 'node:crypto'
import { copyFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Check } from '../../src/kernel/check.js'
import { appendToSecurityLog, verifySecurityLog } from '../../src/operations/logging/security-log-chain.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { cliJson, runCli } from '../cli/in-process.js'
import { temporaryDirectory } from '../support/processes.js'

const box = createSecretBox(randomBytes(32))

/** A directory with six lines, of which the third and the last were written without a key. */
function world(t: Test) {
  const directory = temporaryDirectory(t)
  const append = (n: number, key = box) => appendToSecurityLog(directory, { n, correlationId: `c${n}` }, key)
  for (let n = 1; n <= 6; n++)
    appendToSecurityLog(directory, { n, correlationId: `c${n}` }, n % 3 === 0 ? undefined : box)
  const path = join(directory, 'security.log')
  const lines = () => readFileSync(path, 'utf8').trimEnd().split('\n')
  const write = (texts: readonly string[]) => writeFileSync(path, texts.map((text) => `${text}\n`).join(''))
  const verify = () => verifySecurityLog(directory, box)
  return { directory, path, append, lines, write, verify }
}

t.test('any edit, removal, insertion, swap or cut-off of lines is found, and a later command does not hide it', (t) => {
  const { directory, append, lines, write, verify } = world(t)
  t.match(verify(), { from: 1, to: 6, problems: [] })
  const genuine = lines()
  const kept = temporaryDirectory(t)
  cpSync(directory, kept, { recursive: true })
  const place = fc.nat(5)
  const edits = fc.oneof(
    fc
      .tuple(place, fc.nat(40))
      .map(([n, at]) => genuine.map((text, i) => (i === n ? `${text.slice(0, at)}x${text.slice(at + 1)}` : text))),
    place.map((n) => genuine.toSpliced(n, 1)),
    place.map((n) => genuine.slice(0, n)),
    fc.tuple(place, place).map(([from, to]) => genuine.toSpliced(to, 0, genuine[from]!)),
    fc.tuple(place, place).map(([a, b]) => genuine.with(a, genuine[b]!).with(b, genuine[a]!)),
  )
  fc.assert(
    fc.property(edits, (edited) => {
      if (String(edited) === String(genuine)) return true
      cpSync(kept, directory, { recursive: true, force: true })
      write(edited)
      // Without its oldest lines, a file looks as after a rotation, and the first line shows it.
      const isFound = () => verify().problems.length > 0 || verify().from > 1
      const isFoundBefore = isFound()
      append(7)
      return isFoundBefore && isFound()
    }),
    { numRuns: 100 },
  )
  t.end()
})

t.test('lines that were written again with a fitting chain are found by the MAC, as is an edited database', (t) => {
  const { directory, path, append, lines, verify } = world(t)
  const kept = lines()
  const other = temporaryDirectory(t)
  for (let n = 1; n <= 6; n++)
    appendToSecurityLog(other, { n, correlationId: 'forged' }, createSecretBox(randomBytes(32)))
  copyFileSync(join(other, 'security.log'), path)
  t.match(verify().problems, [/Line 5 was edited/])
  copyFileSync(join(other, 'security-log.db'), join(directory, 'security-log.db'))
  t.match(verify().problems, [/security-log.db was edited/])
  append(7)
  t.not(verify().problems.length, 0)
  rmSync(join(directory, 'security-log.db'))
  t.match(verify().problems, [/security-log.db is missing/])
  t.equal(kept.length, 6)
  t.end()
})

t.test('a rotated file continues the chain, in the directory or elsewhere', (t) => {
  const { directory, path, append, verify } = world(t)
  renameSync(path, `${path}.1`)
  append(7)
  t.match(verify(), { from: 1, to: 7, problems: [] })
  writeFileSync(`${path}.2.gz`, gzipSync(readFileSync(`${path}.1`)))
  rmSync(`${path}.1`)
  renameSync(path, `${path}-20261123`)
  append(8)
  t.match(verify(), { from: 1, to: 8, problems: [] })
  rmSync(`${path}-20261123`)
  t.match(verify().problems, [/Line 8 does not follow line 6/], 'a file that is missing in between is found')
  rmSync(`${path}.2.gz`)
  t.match(verify(), { from: 8, to: 8, problems: [] }, 'the oldest files can be stored elsewhere')
  rmSync(join(directory, 'security.log'))
  t.match(verify().problems, [/Lines 1 to 8 are missing/])
  t.end()
})

t.test('the doctor reports an edited security log, and one that was removed as a whole', async (t) => {
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  const live = ['--name', 'A', '--callback-url', 'https://a.example', '--allow-ip', '10.0.0.1']
  const { id } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...live)
  await cliJson(directory, 'merchants', 'suspend', id, '--yes')
  const check = async () => {
    const { stdout } = await runCli(directory, ['doctor', '--json'], { PORT: '0' })
    return (JSON.parse(stdout) as { checks: Check[] }).checks.find(({ name }) => name === 'security-log')
  }
  t.match(await check(), { result: 'ok', found: 'Lines 1 to 2 are unchanged.' })
  const path = join(data, 'security.log')
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace('merchants create', 'merchants list'))
  t.match(await check(), { result: 'failed', found: /does not follow/ })
  for (const name of ['security.log', 'security-log.db']) rmSync(join(data, name))
  t.match(await check(), { result: 'warning', found: /does not contain a command/ })
  await cliJson(directory, 'merchants', 'resume', id)
  t.match(await check(), { result: 'warning', found: /does not contain a command/ }, 'a new chain does not hide it')
})

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import type { Failure } from '../../src/cli/failures.js'
import { printChanges, type Reading, redraw, type Show, type Watched, watch } from '../../src/cli/watch.js'
import { cleanEnvironment, cliJson, runCli, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { onTerminal } from '../support/terminal.js'

const control = '\u001b['
const at = '2026-11-21T20:10:05.000Z'
const reading = (text: string, ...notices: string[]): Reading => ({ document: { text }, text: `${text}\n`, notices })
const outage = Object.assign(new Error('the event store is unavailable'), { name: 'StoreUnavailableError' })
const failure: Failure = { status: 1, code: 'store-unavailable', message: outage.message }

/** Watches the results in this order until the last one. */
async function watched(show: Show, results: readonly (Reading | Error)[]) {
  const stop = new AbortController()
  const left = [...results]
  await watch({
    async read() {
      const next = left.shift()!
      if (next instanceof Error) throw next
      return next
    },
    show,
    clock: () => at,
    async pause() {
      if (left.length === 0) stop.abort()
    },
    signal: stop.signal,
  })
}

t.test('continues after the unavailability of a store, and ends with any other failure', async (t) => {
  const shown: Watched[] = []
  await watched((each) => shown.push(each), [reading('a'), outage, reading('b')])
  t.same(shown, [
    { at, latest: reading('a'), failure: undefined },
    { at, latest: reading('a'), failure },
    { at, latest: reading('b'), failure: undefined },
  ])
  await t.rejects(
    watched(() => undefined, [outage, new Error('a bug')]),
    /a bug/,
  )
})

t.test('ends at the signal without waiting for an unavailable store', async (t) => {
  const stop = new AbortController()
  const parts = { show: () => t.fail(), clock: () => at, pause: async () => undefined, signal: stop.signal }
  const read = () => {
    stop.abort()
    return new Promise<Reading>(() => undefined)
  }
  await watch({ ...parts, read })
})

t.test('without a terminal, prints only changes, and each warning and outage once', async (t) => {
  const results = [reading('a', 'hint'), reading('a', 'hint'), outage, outage, reading('a'), reading('b'), outage]
  for (const [isJson, expected] of [
    [true, ['{"text":"a"}\n', 'hint', 'failed', '{"text":"b"}\n', 'failed']],
    [false, ['2026-11-21 20:10:05Z\na\n\n', 'hint', 'failed', '2026-11-21 20:10:05Z\nb\n\n', 'failed']],
  ] as const) {
    const printed: string[] = []
    const print = (text: string) => void printed.push(text)
    await watched(printChanges({ write: print, announce: print, fail: () => print('failed'), isJson }), results)
    t.same(printed, expected)
  }
})

/** Returns what a terminal shows after the drawings: a model of one that knows the control sequences of `redraw`. */
function screenOf(written: readonly string[], { columns, rows }: { columns: number; rows: number }): string[] {
  const lines: string[] = ['']
  let [row, column] = [0, 0]
  const text = written.join('')
  for (let n = 0; n < text.length; n++) {
    if (text.startsWith(control, n)) {
      const [sequence = '', count, letter] = /^\??(\d*)([A-Za-z])/.exec(text.slice(n + control.length)) ?? []
      n += control.length + sequence.length - 1
      if (letter === 'A') row = Math.max(lines.length - rows, 0, row - Number(count))
      if (letter === 'K' || letter === 'J') lines[row] = lines[row]!.slice(0, column)
      if (letter === 'J') lines.splice(row + 1)
    } else if (text[n] === '\r') column = 0
    else if (text[n] === '\n') {
      row++
      if (lines[row] === undefined) lines.push('')
    } else {
      lines[row] = `${lines[row]!.slice(0, column)}${text[n]}${lines[row]!.slice(column + 1)}`
      column = Math.min(column + 1, columns - 1)
    }
  }
  return lines
}

t.test(
  'a terminal shows only the latest result, also if it is shorter, wider or higher than the terminal',
  async (t) => {
    const size = { columns: 20, rows: 6 }
    const written: string[] = []
    const show = redraw({ write: (text) => void written.push(text), size: () => size, failureLine: () => 'outage' })
    const time = '2026-11-21 20:10:05Z'
    const cases: [text: string, failure: Failure | undefined, expected: readonly string[]][] = [
      ['a\nbcd\ne', undefined, ['a', 'bcd', 'e']],
      ['f\ng', undefined, ['f', 'g']],
      ['f\ng', failure, ['outage', 'f', 'g']],
      ['x'.repeat(30), undefined, ['x'.repeat(20)]],
      ['1\n2\n3\n4\n5\n6\n7', undefined, ['1', '2', '3', '… 4 more lines']],
      ['last', undefined, ['last']],
    ]
    for (const [text, failure, expected] of cases) {
      show({ at, latest: reading(text), failure })
      t.same(screenOf(written, size), [time, ...expected, ''], text)
    }
    show({ at, latest: reading('a', 'Shop\u001b[2J\n\u202e'), failure: undefined })
    t.same(screenOf(written, { columns: 99, rows: 6 }), [time, 'a', 'Shop\\u001b[2J\\u000a\\u202e', ''], 'a warning')
    for (const each of written) {
      t.ok(each.startsWith(`${control}?25l${control}?7l`), 'hides the cursor only during a drawing')
      t.ok(each.endsWith(`${control}?7h${control}?25h`))
    }
  },
)

async function merchantLog() {
  const directory = temporaryDirectory(t)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--sandbox']
  await cliJson(directory, 'merchants', 'create', ...shop)
  return directory
}

t.test('a process prints each change of the state as one document, and ends with status 0 at SIGINT', async (t) => {
  const directory = await merchantLog()
  const args = [program, 'payouts', 'status', '--watch=1', '-o', 'json']
  const child = spawn(process.execPath, args, {
    cwd: directory,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const reasons: unknown[] = []
  const ended = once(child, 'exit')
  let stopped: Promise<unknown> | undefined
  for await (const text of child.stdout.setEncoding('utf8')) {
    for (const line of String(text).trimEnd().split('\n'))
      reasons.push((JSON.parse(line) as { stopReason: string | null }).stopReason)
    stopped ??= cliJson(directory, 'payouts', 'stop', '--reason', 'a test')
    if (reasons.length === 2) child.kill('SIGINT')
  }
  await stopped
  t.same(await ended, [0, null])
  t.same(reasons, [null, 'a test'])
})

t.test('a store that is unavailable at the start is tried again until SIGINT', async (t) => {
  const child = spawn(process.execPath, [program, 'payouts', 'status', '--watch=1', '--json'], {
    cwd: temporaryDirectory(t),
    env: {
      ...cleanEnvironment(),
      EVENT_STORE_URL: 'esdb://127.0.0.1:1?tls=false',
      TRANSFERD_MASTER_KEY: 'ab'.repeat(32),
    },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const [reported] = await once(child.stderr.setEncoding('utf8'), 'data')
  t.match(JSON.parse(String(reported)), { error: { code: 'store-unavailable' } })
  child.kill('SIGINT')
  t.same(await ended, [0, null])
})

const skip = spawnSync('python3', ['--version']).status === 0 ? false : 'python3 is not installed'

t.test('a terminal redraws a transfer when it changes, and Ctrl-C ends it with status 0', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  await cliJson(directory, 'seed')
  const { items } = await cliJson<{ items: { trackingId: string | null }[] }>(
    directory,
    'audit',
    'who',
    '--limit',
    '1000',
  )
  const show = (id: string) => cliJson<{ statusDescription: string }>(directory, 'transfers', 'show', id)
  let pending: string | undefined
  for (const { trackingId } of items.reverse())
    if (!pending && trackingId && (await show(trackingId)).statusDescription === 'Pending') pending = trackingId
  const words = [process.execPath, program, 'transfers', 'show', pending!, '--watch=1']
  let changed: Promise<unknown> | undefined
  const { status, shown } = await onTerminal(directory, words, [['ManualControl', '\u0003']], {}, (shown) => {
    if (shown.includes('Pending')) changed ??= cliJson(directory, 'transfers', 'manual', pending!)
  })
  await changed
  t.equal(status, 0)
  const screen = screenOf([shown.replaceAll('\n', '\r\n')], { columns: 200, rows: 1_000 }).join('\n')
  t.match(screen, /^statusDescription +ManualControl$/m)
  t.notMatch(screen, 'Pending', 'the new state replaces the previous one')
})

t.test(
  '--watch before an argument does not take it as the number of seconds, and cannot be combined with CSV',
  async (t) => {
    const directory = await merchantLog()
    const unknown = '00000000-0000-4000-8000-000000000000'
    t.match(await runCli(directory, ['transfers', 'show', '--watch', unknown]), {
      status: 1,
      stderr: /Transfer not found/,
    })
    for (const wrong of [['--watch=0'], ['--watch=x'], ['--watch', '-o', 'csv']])
      t.match(await runCli(directory, ['transfers', 'list', ...wrong]), { status: 2, stdout: '' })
  },
)

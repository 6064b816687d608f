// npm test [-- word…]: runs all tests, or those whose paths contain one of the words. TEST_LONG=1 (`npm run test:long`) adds the tests of
// test/long and all rounds of test/crash.
//
// A file that fails is run once more, alone, at the end. If it then passes, it is unstable: the run names it and passes. More than
// `unstableLimit` unstable files fail the run.
//
// The run prints failures when they occur, and otherwise only a line per `filesPerLine` files. It ends with the files that failed and the
// slowest ones. The last line is `N passed, N failed, N skipped`.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

const unstableLimit = 3
const filesPerLine = 25
const words = process.argv.slice(2)
const long = process.env.TEST_LONG === '1'

const support = (name) => fileURLToPath(new URL(`../dist/test/support/${name}`, import.meta.url))
/** Ends the run, and names the command to run before it. */
function requireFile(file, command) {
  if (existsSync(file)) return
  console.error(`${file} is missing: run \`${command}\` in the root of the repository`)
  process.exit(1)
}
requireFile('node_modules/tap', 'npm ci')
requireFile('dist/test', 'npm run build')
requireFile(support('test-process.js'), 'npm run build')

const packages = readdirSync('packages')
  .map((name) => `packages/${name}/dist/test`)
  .filter((folder) => existsSync(folder))
const files = ['dist/test', ...packages]
  .flatMap((root) => readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => `${root}/${file}`))
  // A compiled test remains when its source is moved or deleted.
  .filter((file) => file.endsWith('.test.js') && existsSync(file.replace('dist/', '').replace(/js$/, 'ts')))
  .filter((file) => long || !file.startsWith('dist/test/long/'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()
if (files.length === 0) {
  console.error(`no test path contains ${words.join(' or ')}`)
  process.exit(1)
}

// Half of the time of most test files is the start of Node, tap and the service, so a process runs many of them sequentially. The
// files that take longest start first, each in a separate process.
const runsAlone = (file) => /^dist\/test\/(browser|crash|long)\//.test(file)
const queue = [...files.filter(runsAlone), ...files.filter((file) => !runsAlone(file))]

const execArgv = ['--enable-source-maps', '--require', support('without-async-hooks.cjs')]
const logs = 'dist/test-logs'
rmSync(logs, { recursive: true, force: true })
mkdirSync(logs, { recursive: true })
let processes = 0
// This bundles the program if `tsc` has changed it. Otherwise, several test processes would do so at the same time.
await import(support('program.js'))

/** Starts a process that runs test files. Its output is in a file of `logs`. */
function startProcess() {
  const log = `${logs}/${++processes}.log`
  const output = openSync(log, 'w')
  const child = fork(support('test-process.js'), {
    execArgv,
    stdio: ['ignore', output, output, 'ipc'],
    serialization: 'advanced',
  })
  closeSync(output)
  const exited = once(child, 'exit').then(([code, signal]) => signal ?? code)
  let received
  // tap sends messages too.
  child.on('message', (message) => 'failures' in message && received(message))
  const broken = (name) => ({
    ...{ passed: 0, failed: 1, skipped: 0 },
    failures: [{ name, diagnostic: { output: readFileSync(log, 'utf8').slice(-3000) } }],
  })
  return {
    /** Runs a file and returns its result. A process that ends or hangs is a failure of the file. */
    async run(file) {
      const timer = new AbortController()
      const response = new Promise((resolve) => {
        received = resolve
      })
      child.send(file)
      const result = await Promise.race([
        response,
        exited.then((status) => broken(`the process ended with ${status} before the file`)),
        sleep(1_200_000, undefined, { signal: timer.signal }).then(
          () => broken('the file did not end within 20 minutes'),
          () => undefined,
        ),
      ])
      timer.abort()
      return result
    },
    /** Ends the process. Returns undefined, or the failure if something keeps it alive or if it fails after the last file. */
    async end() {
      if (child.connected) child.disconnect()
      const timer = new AbortController()
      const status = await Promise.race([
        exited,
        sleep(30_000, 'open', { signal: timer.signal }).catch(() => undefined),
      ])
      timer.abort()
      if (status === 0) return undefined
      if (status !== 'open') return broken(`the process ended with ${status} after the file`)
      child.kill('SIGKILL')
      return broken('the process did not end: the file left something open')
    },
  }
}

const started = performance.now()
const secondsSince = (time) => ((performance.now() - time) / 1000).toFixed(1)

const shownFailures = 20
const shownLines = 100

/** Returns the first elements, and how many more there are. */
function firstOf(all, limit, noun) {
  return all.length <= limit ? all : [...all.slice(0, limit), `… ${all.length - limit} more ${noun}`]
}

/** Returns a failure and what tap reports about it: the place, the difference or else the code, and any other values. */
function linesOf({ name, diagnostic }) {
  const { at, stack = '', diff, source, compare: _, tapCaught: __, ...values } = diagnostic ?? {}
  const frames = stack
    .split('\n')
    .filter((frame) => frame !== '' && !frame.includes('test-process'))
    // With source maps, a frame has two places. The second one is in the source.
    .map((frame) => frame.replace(/\(\S+\) (?=\()/, ''))
  if (frames.length === 0 && at) frames.push(`${at.fileName}:${at.lineNumber}:${at.columnNumber}`)
  const lines = [...frames, ...(diff?.replace(/^@@.*\n/gm, '') ?? source ?? '').trimEnd().split('\n')]
  for (const [label, value] of Object.entries(values)) {
    const text = typeof value === 'string' ? value : inspect(value, { depth: 8, maxStringLength: 4_000 })
    lines.push(...`${label}: ${text}`.trimEnd().split('\n'))
  }
  const indented = lines.filter((line) => line !== '').map((line) => `    ${line}`)
  return [`  ${name}`, ...firstOf(indented, shownLines, 'lines')]
}

function printFailures(file, { failures }) {
  console.log([`FAILED ${file}`, ...firstOf(failures.map(linesOf), shownFailures, 'failures').flat()].join('\n'))
}

const seconds = new Map()

/** Runs a file and prints its failures, unless an earlier run of the file had the same ones. */
async function runFile(testProcess, file, earlier) {
  const start = performance.now()
  const result = await testProcess.run(file)
  if (earlier === undefined) seconds.set(file, secondsSince(start))
  const namesOf = ({ failures }) => failures.map(({ name }) => name).join('\n')
  if (result.failed > 0 && !(earlier && namesOf(result) === namesOf(earlier))) printFailures(file, result)
  return result
}

/** Runs files of the queue until it is empty. */
async function runQueue(results) {
  let testProcess
  let last
  const end = async () => {
    const failure = await testProcess?.end()
    testProcess = undefined
    if (failure !== undefined && results.get(last).failed === 0) {
      results.set(last, failure)
      printFailures(last, failure)
    }
  }
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    if (runsAlone(file)) await end()
    testProcess ??= startProcess()
    last = file
    const result = await runFile(testProcess, file)
    results.set(file, result)
    if (results.size % filesPerLine === 0 && results.size < files.length) {
      const failed = [...results.values()].filter((each) => each.failed > 0).length
      console.log(`${results.size} of ${files.length} files, ${failed} failed`)
    }
    // A failed test may leave something behind, which must not fail the next file.
    if (runsAlone(file) || result.failed > 0) await end()
  }
  await end()
}

const first = new Map()
await Promise.all(Array.from({ length: Math.min(8, 2 * availableParallelism()) }, () => runQueue(first)))
const failedFiles = files.filter((file) => first.get(file).failed > 0)
const final = new Map(first)
if (failedFiles.length > 0) console.log(`running ${failedFiles.length} failed files again, alone`)
for (const file of failedFiles) {
  const testProcess = startProcess()
  const result = await runFile(testProcess, file, first.get(file))
  const failure = await testProcess.end()
  final.set(file, result.failed > 0 ? result : (failure ?? result))
}

const sum = (field) => [...final.values()].reduce((total, result) => total + result[field], 0)
const unstable = failedFiles.filter((file) => final.get(file).failed === 0)
const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, 5)
console.log(`\n${files.length} files in ${secondsSince(started)} s`)
console.log(`slowest: ${slowest.map(([file, time]) => `${file} ${time} s`).join(', ')}`)
for (const file of failedFiles.filter((each) => !unstable.includes(each)))
  console.log(`failed twice: ${file} — first failure: ${final.get(file).failures[0].name}`)
for (const file of unstable) console.log(`unstable: ${file} — first failure: ${first.get(file).failures[0].name}`)
if (unstable.length > unstableLimit) console.log(`more than ${unstableLimit} files are unstable`)
const failed = sum('failed') + (unstable.length > unstableLimit ? unstable.length : 0)
const passed = sum('passed')
if (passed === 0) console.log('no test ran')
console.log(`${passed} passed, ${failed} failed, ${sum('skipped')} skipped`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)

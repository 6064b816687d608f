// npm test [-- word…]: runs all tests, or those whose paths contain one of the words. TEST_LONG=1 (`npm run test:long`) adds the tests of
// test/long and all rounds of test/crash.
//
// A file that fails is run once more, alone, at the end. If it then passes, it is unstable: the run names it and passes. More than
// `unstableLimit` unstable files fail the run. The last line is `N passed, N failed, N skipped`.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

const unstableLimit = 3
const words = process.argv.slice(2)
const long = process.env.TEST_LONG === '1'

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

const support = (name) => fileURLToPath(new URL(`../dist/test/support/${name}`, import.meta.url))
const execArgv = ['--enable-source-maps', '--require', support('without-async-hooks.cjs')]
const logs = 'dist/test-logs'
rmSync(logs, { recursive: true, force: true })
mkdirSync(logs, { recursive: true })
let processes = 0

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

/** Runs a file and prints how it ended. */
async function runFile(testProcess, file) {
  const start = performance.now()
  const result = await testProcess.run(file)
  console.log(`${result.failed > 0 ? 'FAILED' : 'ok'} ${file} ${secondsSince(start)} s`)
  for (const { name, diagnostic } of result.failures.slice(0, 20)) {
    console.log(`  ${name}\n${inspect(diagnostic, { depth: 8, maxStringLength: 4000 }).replace(/^/gm, '    ')}`)
  }
  return result
}

/** Runs files of the queue until it is empty. */
async function runQueue(results) {
  let testProcess
  let last
  const end = async () => {
    const failure = await testProcess?.end()
    testProcess = undefined
    if (failure !== undefined && results.get(last).failed === 0) results.set(last, failure)
  }
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    if (runsAlone(file)) await end()
    testProcess ??= startProcess()
    last = file
    const result = await runFile(testProcess, file)
    results.set(file, result)
    // A failed test may leave something behind, which must not fail the next file.
    if (runsAlone(file) || result.failed > 0) await end()
  }
  await end()
}

const first = new Map()
await Promise.all(Array.from({ length: Math.min(8, 2 * availableParallelism()) }, () => runQueue(first)))
const failedFiles = files.filter((file) => first.get(file).failed > 0)
const final = new Map(first)
if (failedFiles.length > 0) console.log(`again, alone: ${failedFiles.join(' ')}`)
for (const file of failedFiles) {
  const testProcess = startProcess()
  const result = await runFile(testProcess, file)
  const failure = await testProcess.end()
  final.set(file, result.failed > 0 ? result : (failure ?? result))
}

const sum = (field) => [...final.values()].reduce((total, result) => total + result[field], 0)
const unstable = failedFiles.filter((file) => final.get(file).failed === 0)
console.log(`\n${files.length} files in ${secondsSince(started)} s`)
for (const file of failedFiles.filter((each) => !unstable.includes(each))) console.log(`failed twice: ${file}`)
for (const file of unstable) console.log(`unstable: ${file} — first failure: ${first.get(file).failures[0].name}`)
if (unstable.length > unstableLimit) console.log(`more than ${unstableLimit} files are unstable`)
const failed = sum('failed') + (unstable.length > unstableLimit ? unstable.length : 0)
const passed = sum('passed')
if (passed === 0) console.log('no test ran')
console.log(`${passed} passed, ${failed} failed, ${sum('skipped')} skipped`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)

import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { temporaryDirectory } from './support/processes.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

const passes = `t.equal(1, 1)`
const fails = `t.equal(1, 2, 'one is two')`
/** Fails in its first run and passes in the second. */
const failsOnce = (name: string) => `
if (existsSync('${name}.ran')) t.pass()
else {
  writeFileSync('${name}.ran', '')
  t.fail('the first run')
}`
/** Ends its process in its first run, and passes in the second. */
const crashesOnce = `
if (existsSync('crash.ran')) t.pass()
else {
  writeFileSync('crash.ran', '')
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => setInterval(() => undefined, 1000))
}`
/** Passes and then throws an error that belongs to no test. */
const throwsLater = `t.pass()
setTimeout(() => { throw new Error('later') }, 50)`
const throws = `throw new Error('outside a test')`

/** Runs scripts/test.js on planted test files: a folder below dist/test and a body for each. */
function run(t: Test, files: Readonly<Record<string, string>>, ...words: string[]) {
  const directory = temporaryDirectory(t)
  mkdirSync(join(directory, 'packages'))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  for (const [name, body] of Object.entries(files)) {
    const folder = join(directory, 'dist/test', name)
    mkdirSync(folder, { recursive: true })
    mkdirSync(join(directory, 'test', name), { recursive: true })
    writeFileSync(join(directory, 'test', name, 'planted.test.ts'), '')
    const imports = `import { existsSync, writeFileSync } from 'node:fs'\nimport t from 'tap'\n`
    const whole = body === throws ? body : `t.test('planted', async (t) => {${body}\n})`
    writeFileSync(join(folder, 'planted.test.js'), `${imports}${whole}\n`)
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts/test.js'), ...words], {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
  const lines = stdout.trimEnd().split('\n')
  return { status, stdout, stderr, unstable: lines.filter((line) => line.startsWith('unstable: ')), last: lines.at(-1) }
}

t.test('passes if files fail once, and names them with their first failures', async (t) => {
  const files = { a: failsOnce('a'), b: crashesOnce, c: failsOnce('c'), d: passes }
  const { status, unstable, last } = run(t, files)
  t.equal(unstable.length, 3)
  t.equal(unstable[0], 'unstable: dist/test/a/planted.test.js — first failure: planted > the first run')
  t.match(unstable[1], /b\/planted\.test\.js — first failure: the process ended with SIGKILL before the file/)
  t.same([status, last], [0, '4 passed, 0 failed, 0 skipped'])
})

t.test('fails if a file fails twice, and says why', async (t) => {
  const { status, stdout, unstable, last } = run(t, { a: fails, b: throws, c: passes, d: throwsLater })
  t.match(stdout, /^failed twice: dist\/test\/a\/planted\.test\.js$/m)
  t.match(stdout, /^ {2}planted > one is two$/m)
  t.match(stdout, /^ {2}the file threw an error: outside a test$/m)
  t.match(stdout, /^failed twice: dist\/test\/d\/planted\.test\.js$/m, 'an error after the last test counts')
  t.same([status, unstable, last], [1, [], '1 passed, 3 failed, 0 skipped'])
})

t.test('fails if more than three files are unstable', async (t) => {
  const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, failsOnce(name)]))
  const { status, unstable, last } = run(t, files)
  t.same([status, unstable.length, last], [1, 4, '4 passed, 4 failed, 0 skipped'])
})

t.test('fails if no test ran', async (t) => {
  const nothing = run(t, { a: `t.skip('not here')` })
  t.same([nothing.status, nothing.last], [1, '0 passed, 0 failed, 1 skipped'])
  t.match(nothing.stdout, /^no test ran$/m)
  const unknown = run(t, { a: passes }, 'unknown')
  t.same([unknown.status, unknown.stderr], [1, 'no test path contains unknown\n'])
})

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
  t.match(stdout, /^failed twice: dist\/test\/a\/planted\.test\.js — first failure: planted > one is two$/m)
  t.match(
    stdout,
    /^failed twice: dist\/test\/b\/planted\.test\.js — first failure: the file threw an error: outside a test$/m,
  )
  t.match(stdout, /^failed twice: dist\/test\/d\/planted\.test\.js/m, 'an error after the last test counts')
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

t.test('prints each failure once, with its place and difference, and no line for a file that passes', (t) => {
  const differs = `t.strictSame({ a: ['x', { b: 1 }], c: 'same' }, { a: ['x', { b: 2 }], c: 'same' }, 'differs')`
  const { stdout, stderr } = run(t, {
    a: differs,
    b: throws,
    ...Object.fromEntries([...'cdefg'].map((name) => [name, passes])),
  })
  t.equal(stderr, '')
  const [head = '', foot = ''] = stdout.split('running 2 failed files again, alone\n')
  const difference = `FAILED dist/test/a/planted.test.js
  planted > differs
    Test.<anonymous> (dist/test/a/planted.test.js:3:35)
    dist/test/a/planted.test.js:3:3
    --- expected
    +++ actual
     Object {
       "a": Array [
         "x",
         Object {
    -      "b": 2,
    +      "b": 1,
         },
       ],
     }
`
  t.ok(head.includes(difference), 'the failure is readable')
  t.match(
    head,
    /^FAILED dist\/test\/b\/planted\.test\.js\n {2}the file threw an error: outside a test\n {4}.*planted\.test\.js:3:7/m,
  )
  t.notMatch(stdout, /[c-g]\/planted\.test\.js$/m)
  const lines = foot
    ?.replace(/\d+\.\d+ s/g, '1.0 s')
    .trim()
    .split('\n')
  t.equal(lines.length, 5)
  t.equal(lines[0], '7 files in 1.0 s')
  t.match(lines[1], /^slowest: (dist\/test\/[a-g]\/planted\.test\.js 1\.0 s(, |$)){5}$/)
  t.match(lines.slice(2), [/^failed twice: .*a/, /^failed twice: .*b/, '5 passed, 2 failed, 0 skipped'])
  t.end()
})

t.test('prints a failure of the second run that the first one did not have', (t) => {
  const changes = `
const run = existsSync('changes.ran') ? 'second' : 'first'
writeFileSync('changes.ran', '')
t.fail('in the ' + run + ' run')`
  const { stdout } = run(t, { a: changes })
  for (const time of ['first', 'second']) t.match(stdout, new RegExp(`^  planted > in the ${time} run$`, 'm'))
  t.match(stdout, /^failed twice: .* — first failure: planted > in the second run$/m)
  t.end()
})

t.test('prints a line of progress for many files', (t) => {
  const files = Object.fromEntries(Array.from({ length: 52 }, (_, n) => [`f${n}`, passes]))
  const { stdout } = run(t, files)
  t.same(stdout.split('\n').slice(0, 3), ['25 of 52 files, 0 failed', '50 of 52 files, 0 failed', ''])
  t.end()
})

t.test('says what to run if the dependencies or the compiled tests are missing', (t) => {
  const directory = temporaryDirectory(t)
  const inDirectory = () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts/test.js')], {
      cwd: directory,
      encoding: 'utf8',
    })
    return [status, stdout, stderr]
  }
  t.same(inDirectory(), [1, '', 'node_modules/tap is missing: run `npm ci` in the root of the repository\n'])
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  t.same(inDirectory(), [1, '', 'dist/test is missing: run `npm run build` in the root of the repository\n'])
  t.end()
})

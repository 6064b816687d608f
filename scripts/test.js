// npm test [-- word… option…]: runs all tests, or those whose paths contain one of the words. Options, which start with `-`, are passed
// to tap. TEST_LONG=1 (`npm run test:long`, `.ci/run`) adds the tests of test/long and all rounds of test/crash.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'

const given = process.argv.slice(2)
const words = given.filter((word) => !word.startsWith('-'))
const options = given.filter((option) => option.startsWith('-'))

const long = process.env.TEST_LONG === '1'

const packages = readdirSync('packages').map((name) => `packages/${name}/dist/test`)
const files = ['dist/test', ...packages]
  .flatMap((root) => readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => `${root}/${file}`))
  .filter((file) => file.endsWith('.test.js') && (long || !file.startsWith('dist/test/long/')))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
if (files.length === 0) {
  console.error(`no test path contains ${words.join(' or ')}`)
  process.exit(1)
}

/** Runs tap, and exits if it fails. */
function tap(...args) {
  const { status } = spawnSync('tap', args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

// Build tap's plugins once per installation (docs/decisions/0001-dependencies.md).
const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
if (changedAt('.tap/built') < changedAt('node_modules/.package-lock.json')) {
  tap('build')
  writeFileSync('.tap/built', '')
}

// Half of the time of most test files is the start of Node, tap and the service, so they run several to a process. tap starts files in the
// order of their names: those of pages, of `test/crash` and of `test/long`, which take longest, come first. Neighbors run in different
// processes, because the other files that take long share a few folders.
const runsAlone = (file) => /^dist\/test\/(browser|crash|long)\//.test(file)
const together = 'dist/together'
rmSync(together, { recursive: true, force: true })
mkdirSync(together)
const shared = files.filter((file) => !runsAlone(file)).sort()
const count = Math.min(12, shared.length)
const processes = Array.from({ length: count }, (_, n) => {
  const run = JSON.stringify(shared.filter((_, place) => place % count === n))
  const name = `${together}/${String(n + 1).padStart(2, '0')}.test.js`
  writeFileSync(name, `import { runFiles } from '../test/support/run-files.js'\nawait runFiles(${run})\n`)
  return name
})
tap(...options, ...files.filter(runsAlone), ...processes)

// node scripts/planted-bugs.js [--jobs <1 or 2>] [<name>...]: shows that the simulation finds the bugs of test/simulation/planted-bugs, or
// those whose file names contain one of the names. Each patch is applied to a copy of the tree, compiled, and simulated until an invariant
// fails. Prints a Markdown table, and fails if a bug is not found, or if another invariant than those of its header fails first.
//
// --applies only checks the headers, and that each patch applies to this tree.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/**
 * @typedef {object} Bug
 * @property {string} name
 * @property {string} file the path of the patch
 * @property {string} sentence
 * @property {readonly string[]} invariants those of which one must fail first
 *
 * @typedef {object} Result
 * @property {Bug} bug
 * @property {string} failed the invariant, or why none failed
 * @property {string} seed
 * @property {number} seconds
 */

const seeds = 2_000
const maxJobs = 2
/** A simulation that takes longer hangs. */
const maxMs = 1_800_000
const root = fileURLToPath(new URL('../', import.meta.url))
const folder = join(root, 'test/simulation/planted-bugs')
/** What `tsc -b` and the simulation read. */
const copied = ['src', 'test', 'bench', 'examples', 'packages', 'sdks', 'web', 'dist', 'package.json']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { applies: { type: 'boolean' }, jobs: { type: 'string', default: String(maxJobs) } },
})
const bugs = readdirSync(folder)
  .filter((file) => file.endsWith('.patch'))
  .filter((file) => positionals.length === 0 || positionals.some((name) => file.includes(name)))
  .sort()
  .map(readBug)
if (bugs.length === 0) fail(`no patch has a name that contains ${positionals.join(' or ')}`)
if (values.applies) checkPatches()
else await simulateAll()

/** @param {string} name @returns {Bug} */
function readBug(name) {
  const file = join(folder, name)
  const [head = ''] = readFileSync(file, 'utf8').split(/^diff /m)
  const [, sentence] = /^Bug: (\S.*)$/m.exec(head) ?? []
  const [, invariants] = /^Invariant: (\S+(?:, \S+)?)$/m.exec(head) ?? []
  if (sentence === undefined || invariants === undefined)
    fail(`${name} lacks the line "Bug: <sentence>" or "Invariant: <name>[, <name>]"`)
  return { name: name.replace('.patch', ''), file, sentence, invariants: invariants.split(', ') }
}

function checkPatches() {
  for (const { file } of bugs) execFileSync('git', ['apply', '--check', file], { cwd: root, stdio: 'inherit' })
  console.log(`${bugs.length} patches apply`)
}

async function simulateAll() {
  const jobs = Number(values.jobs)
  if (!(jobs >= 1 && jobs <= maxJobs)) fail(`--jobs is 1 to ${maxJobs}`)
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'planted-bugs-')))
  const queue = [...bugs]
  /** @type {Result[]} */
  const results = []
  try {
    const work = async (/** @type {number} */ job) => {
      const copy = copyTree(join(scratch, String(job)))
      await compile(copy)
      for (let bug = queue.shift(); bug; bug = queue.shift()) {
        const result = await simulate(copy, bug)
        results.push(result)
        console.error(
          `${isFound(result) ? 'found' : 'NOT FOUND'} ${bug.name}: ${result.failed} with seed ${result.seed}`,
        )
      }
    }
    await Promise.all(Array.from({ length: Math.min(jobs, bugs.length) }, (_, job) => work(job)))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  printTable(results)
  process.exitCode = results.every(isFound) ? 0 : 1
}

/**
 * The packages of this tree are linked to their copies, because a patch may change them. Returns the directory.
 * @param {string} copy
 */
function copyTree(copy) {
  const configurations = readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name))
  const filter = (/** @type {string} */ source) => basename(source) !== 'test-logs'
  for (const name of [...copied, ...configurations])
    cpSync(join(root, name), join(copy, name), { recursive: true, preserveTimestamps: true, filter })
  const modules = join(root, 'node_modules')
  const own = '@transferd'
  mkdirSync(join(copy, 'node_modules', own), { recursive: true })
  for (const name of readdirSync(modules))
    if (name !== own) symlinkSync(join(modules, name), join(copy, 'node_modules', name))
  for (const name of readdirSync(join(modules, own)))
    symlinkSync(readlinkSync(join(modules, own, name)), join(copy, 'node_modules', own, name))
  return copy
}

/** @param {string} copy @param {Bug} bug @returns {Promise<Result>} */
async function simulate(copy, bug) {
  const startMs = performance.now()
  const result = (/** @type {string} */ failed, seed = '') => {
    return { bug, failed, seed, seconds: Math.round((performance.now() - startMs) / 1_000) }
  }
  apply(copy, [bug.file])
  try {
    await compile(copy)
    const args = ['dist/test/simulation/simulate.js', '--seeds', String(seeds), '--jobs', '1', '--until-failure']
    const { status, output } = await run(copy, process.execPath, args)
    const [, seed, invariant] = /^seed (\d+): (\S+) failed at step \d+/m.exec(output) ?? []
    if (invariant !== undefined && status === 1) return result(invariant, seed)
    if (status === 0) return result('none')
    console.error(output.slice(-3_000))
    return result(`the simulation ended with ${status}`)
  } catch (error) {
    return result(/** @type {Error} */ (error).message)
  } finally {
    apply(copy, ['--reverse', bug.file])
  }
}

/** @param {string} copy @param {readonly string[]} args */
function apply(copy, args) {
  // In a repository, git would skip files outside of its work tree without an error.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(copy) }
  execFileSync('git', ['apply', ...args], { cwd: copy, env })
}

/** @param {string} copy @throws Error with the first message of the compiler */
async function compile(copy) {
  const { status, output } = await run(copy, 'node_modules/.bin/tsc', ['-b'])
  if (status !== 0) throw new Error(`does not compile: ${output.split('\n')[0]}`)
}

/** @param {string} cwd @param {string} program @param {readonly string[]} args */
async function run(cwd, program, args) {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: maxMs, killSignal: 'SIGKILL' })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  const [status, signal] = await once(child, 'close')
  return { status: status ?? signal, output }
}

/** @param {Result} result */
function isFound({ bug, failed }) {
  return bug.invariants.includes(failed)
}

/** @param {Result[]} results */
function printTable(results) {
  console.log('| Bug | Expected | Failed | Seeds | Seconds |\n|---|---|---|---|---|')
  for (const { bug, failed, seed, seconds } of results.sort((a, b) => (a.bug.name < b.bug.name ? -1 : 1))) {
    const shown = bug.invariants.includes(failed) ? failed : `**${failed}**`
    console.log(`| ${bug.sentence} | ${bug.invariants.join(', ')} | ${shown} | ${seed} | ${seconds} |`)
  }
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message)
  process.exit(1)
}

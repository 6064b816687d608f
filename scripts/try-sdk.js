// node scripts/try-sdk.js typescript|python: does what the first page of the client's README says, in an empty directory and with the packed
// client: installs it, starts the receiver, creates a deposit in a sandbox, whose customer pays it, and waits for the verified callback.
// PYTHON names the interpreter (python3).
import { strict as assert } from 'node:assert'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startService } from '../dist/examples/example-service.js'

const callbackWithinMs = 30_000
const linesAtMost = 40

const languages = {
  typescript: { extension: 'ts', install: installTypescript },
  python: { extension: 'py', install: installPython },
}
const language = process.argv[2]
if (!Object.hasOwn(languages, language)) throw new Error('usage: node scripts/try-sdk.js typescript|python')
const { extension, install } = languages[language]
const sdk = resolve('sdks', language)

const [firstPage] = readFileSync(join(sdk, 'README.md'), 'utf8').split('\n## ')
const blocks = [...firstPage.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, code]) => code)
const lines = blocks.join('').trimEnd().split('\n').length
assert.ok(lines <= linesAtMost, `the first page has ${lines} lines of code`)
const block = (name) => {
  const [, code] = new RegExp(`\`${name}\\.${extension}\`[^]*?\`\`\`(?:ts|python)\n([^]*?)\`\`\``).exec(firstPage) ?? []
  assert.ok(code, `the README has no ${name}.${extension}`)
  return code
}

const scratch = mkdtempSync(join(tmpdir(), 'transferd-sdk-'))
const children = []
const service = await startService()
try {
  const directory = join(scratch, 'empty')
  mkdirSync(directory)
  const port = await freePort()
  writeFileSync(join(directory, `create.${extension}`), block('create'))
  writeFileSync(join(directory, `receive.${extension}`), block('receive').replace(/\b4000\b/, String(port)))
  const { program, fileOf } = install(directory)

  const { webApiKey, secretKey, webhookSecret } = service.sandbox
  const environment = {
    ...{ TRANSFERD_URL: service.baseUrl, TRANSFERD_API_KEY: webApiKey },
    ...{ TRANSFERD_SECRET_KEY: secretKey, TRANSFERD_WEBHOOK_SECRET: webhookSecret, PYTHONUNBUFFERED: '1' },
  }
  const start = (command, ...args) => run(command, args, { cwd: directory, env: { ...process.env, ...environment } })
  const receiver = start(program, fileOf('receive'))
  await until(() => isOpen(port), receiver)
  const forwardTo = `http://127.0.0.1:${port}/callbacks`
  const listener = start(process.execPath, resolve('dist/bin/transferd.js'), 'listen', '--forward-to', forwardTo)
  await until(() => listener.output().includes('listening to the callbacks'), listener)
  const creator = start(program, fileOf('create'))
  await until(() => creator.status() !== null, creator)
  assert.equal(creator.status(), 0, creator.output())
  assert.match(creator.output(), /http:\/\/127\.0\.0\.1:\d+\/pay\//)
  await until(() => /[\w-]{36}: .*66\.01/.test(receiver.output()), receiver)
  await until(() => listener.output().includes('signature valid'), listener)
  for (const secret of [secretKey, webhookSecret, webApiKey])
    assert.ok(!`${creator.output()}${receiver.output()}`.includes(secret), 'a program printed a secret')
  console.log(`${language}: ${lines} lines of code; the receiver printed: ${receiver.output().trim()}`)
} finally {
  for (const child of children) child.kill('SIGKILL')
  await service.stop()
  rmSync(scratch, { recursive: true, force: true })
}

/** Compiles the programs, because Node runs TypeScript only from version 22.18 on. */
function installTypescript(directory) {
  execFileSync(process.execPath, ['scripts/pack.js', scratch], { stdio: 'ignore' })
  const tarball = readdirSync(scratch).find((name) => /^transferd-client-.*\.tgz$/.test(name))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }\n')
  const npm = ['install', '--no-audit', '--no-fund', '--offline', join(scratch, tarball)]
  execFileSync('npm', npm, { cwd: directory, stdio: 'ignore' })
  assert.deepEqual(
    readdirSync(join(directory, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['@transferd'],
  )
  const types = ['--types', 'node', '--typeRoots', resolve('node_modules/@types')]
  const options = [
    '--ignoreConfig',
    '--strict',
    '--noUncheckedIndexedAccess',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    ...types,
  ]
  execFileSync(resolve('node_modules/.bin/tsc'), [...options, 'create.ts', 'receive.ts'], {
    cwd: directory,
    stdio: 'inherit',
  })
  return { program: process.execPath, fileOf: (name) => `${name}.js` }
}

function installPython(directory) {
  const environment = join(directory, 'venv')
  execFileSync(process.env.PYTHON ?? 'python3', ['-m', 'venv', environment])
  execFileSync(join(environment, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', sdk])
  return { program: join(environment, 'bin/python'), fileOf: (name) => `${name}.py` }
}

function run(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  return { output: () => output, status: () => child.exitCode }
}

async function until(condition, { output }) {
  const deadline = performance.now() + callbackWithinMs
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `nothing happened within ${callbackWithinMs} ms: ${output()}`)
    await new Promise((done) => setTimeout(done, 20))
  }
}

async function isOpen(port) {
  try {
    await fetch(`http://127.0.0.1:${port}/`)
    return true
  } catch {
    return false
  }
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

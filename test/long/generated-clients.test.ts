import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { callbackBody } from '../../src/domain/callback.js'
import { hashCode } from '../../src/security/api-keys.js'
import { cliJson } from '../cli/in-process.js'
import { listedService } from '../support/listed-service.js'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'

/** The jar of openapi-generator-cli. */
const generator = process.env.TEST_OPENAPI_GENERATOR ?? ''
const run = promisify(execFile)
t.setTimeout(600_000)

const has = (command: string, ...args: string[]) => {
  try {
    return execFileSync(command, args, { stdio: 'ignore' }) !== undefined
  } catch {
    return false
  }
}
const missing = (command: string, ...args: string[]) => !has(command, ...args) && `${command} is not installed`
const skipped = (command: string, ...args: string[]) =>
  existsSync(generator) ? missing(command, ...args) : 'TEST_OPENAPI_GENERATOR is not set'
const venv = ['python3', '-m', 'venv', '--help'] as const
const programs = resolve('test/long/generated-clients')

const payload = {
  ...{ referenceId: 'r', message: null, amountMinor: 100_50n, transactionAmountMinor: 100_50n, receiptUrl: null },
  ...{ status: 2, hasAmountMismatch: false },
}
const callback = callbackBody(payload, '0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60', () => '0'.repeat(32))
/** From a service that knows more statuses than the client. */
const newerCallback = callback.replace('"Status":2', '"Status":9').replace('"Completed"', '"Returned"')

/** The output of the program in every language. */
const expected = {
  created: 'Pending',
  amount: 100.5,
  repeated: true,
  refused: 40003,
  nextStep: 'Completed',
  accountNumber: 999_999_999_991,
  completed: [2, 'Completed', 100.5],
  listed: [true],
  feed: ['DepositCreated', 'TransferCompleted'],
  callbacks: 1,
  resent: [202, 1],
  withdrawal: ['Completed', null, 100.5],
  callback: [2, 100.5, null],
  newerCallback: 100.5,
}

let shared: Promise<{ service: ServiceProcess; settlementKey: string }> | undefined

/** Starts the service of all tests. Its merchant is a sandbox merchant, whose deposits the test customer pays. */
async function sandbox() {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory })
  const { merchantId } = service.sandbox!
  const options = ['--name', 'settlement', '--scope', 'settlement']
  const key = (await cliJson(directory, 'merchants', 'keys', 'create', merchantId, ...options)) as { webApiKey: string }
  return { service, settlementKey: key.webApiKey }
}

/** Generates a client with these options, next to its program. Returns a function that runs a command there. */
async function generated(t: Test, language: string, program: string, ...options: string[]) {
  shared ??= sandbox()
  const { service, settlementKey } = await shared
  const { baseUrl } = service
  const { webApiKey, secretKey } = service.sandbox!
  // Not in this repository, whose package.json would declare the TypeScript client an ES module.
  const directory = temporaryDirectory(t)
  const input = `${baseUrl}/documentation/openapi-3.0.json`
  const args = ['-jar', generator, 'generate', '-g', language, '-i', input, '-o', directory, ...options]
  await run('java', args, { maxBuffer: 64 * 1024 * 1024 })
  mkdirSync(join(directory, dirname(program)), { recursive: true })
  copyFileSync(join(programs, basename(program)), join(directory, program))
  const env = {
    ...process.env,
    ...{ BASE_URL: baseUrl, WEB_API_KEY: webApiKey, SETTLEMENT_KEY: settlementKey, REFERENCE: language },
    DEPOSIT_HASH: hashCode(secretKey, '100.5', language),
    WITHDRAWAL_HASH: hashCode(secretKey, '100.5', `${language}-out`),
    ...{ CALLBACK: callback, NEWER_CALLBACK: newerCallback },
    ...{ GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' },
  }
  return {
    directory,
    run: async (command: string, ...args: string[]) => (await run(command, args, { cwd: directory, env })).stdout,
  }
}

/** Installs packages in a virtual environment in the directory, and returns the folder of its programs. */
async function install(directory: string, ...packages: string[]): Promise<string> {
  const environment = join(directory, 'venv')
  await run('python3', ['-m', 'venv', environment])
  await run(join(environment, 'bin', 'pip'), ['install', '--quiet', ...packages])
  return join(environment, 'bin')
}

const tolerant = 'enumUnknownDefaultCase=true'
/** The generators for Go and Python ignore the option. */
const intolerant = { ...expected, newerCallback: null }

t.test('a TypeScript client', { skip: skipped(process.execPath, '-v') }, async (t) => {
  const client = await generated(t, 'typescript-fetch', 'program.ts', '--additional-properties', tolerant)
  const options = ['--strict', '--module', 'commonjs', '--target', 'es2022', '--lib', 'es2023,dom']
  const types = ['--types', 'node', '--typeRoots', resolve('node_modules/@types')]
  await client.run(resolve('node_modules/.bin/tsc'), '--ignoreConfig', ...options, ...types, 'program.ts')
  t.same(JSON.parse(await client.run(process.execPath, 'program.js')), expected)
})

t.test('a Python client', { skip: skipped(...venv) }, async (t) => {
  const client = await generated(t, 'python', 'program.py')
  const bin = await install(client.directory, '-r', join(client.directory, 'requirements.txt'))
  t.same(JSON.parse(await client.run(join(bin, 'python'), 'program.py')), intolerant)
})

t.test('a Go client', { skip: skipped('go', 'version') }, async (t) => {
  const options = ['--type-mappings', 'number=float64', '--additional-properties', 'enumClassPrefix=true']
  const client = await generated(t, 'go', 'program/main.go', ...options)
  t.same(JSON.parse(await client.run('go', 'run', './program')), intolerant)
})

t.test('a Java client', { skip: skipped('mvn', '--version') }, async (t) => {
  const options = ['--library', 'native', '--additional-properties', tolerant]
  const client = await generated(t, 'java', 'src/main/java/Program.java', ...options)
  const classpath = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath'
  await client.run('mvn', '-q', '-B', 'compile', classpath, '-Dmdep.outputFile=classpath')
  const libraries = readFileSync(join(client.directory, 'classpath'), 'utf8')
  t.same(JSON.parse(await client.run('java', '-cp', `target/classes:${libraries}`, 'Program')), expected)
})

t.test(
  'a Python client that openapi-python-client generates from OpenAPI 3.1',
  { skip: missing(...venv) },
  async (t) => {
    const { baseUrl, webApiKey, trackingIds } = await listedService(t)
    const cwd = temporaryDirectory(t)
    const bin = await install(cwd, 'openapi-python-client>=0.26')
    // The generator runs its formatter by name, so it must be in PATH.
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, BASE_URL: baseUrl, WEB_API_KEY: webApiKey }
    const options = ['--meta', 'none', '--output-path', 'client', '--fail-on-warning']
    await run('openapi-python-client', ['generate', '--url', `${baseUrl}/documentation/json`, ...options], { cwd, env })
    copyFileSync(join(programs, 'list.py'), join(cwd, 'list.py'))
    const { stdout } = await run('python', ['list.py'], { cwd, env })
    const listed = (JSON.parse(stdout) as string[][]).sort(([, a], [, b]) => (a! < b! ? -1 : 1))
    t.same(
      listed,
      trackingIds.map((each) => ['deposit', each]),
    )
  },
)

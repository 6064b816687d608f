import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { destroyTestService, startTestService } from '../support/test-service.js'

/** The folder with the runtimes. */
const runtimes = process.env.TEST_RUNTIMES ?? ''
const skip = existsSync(runtimes) ? false : 'TEST_RUNTIMES is not set'
const run = promisify(execFile)

const vectors = readFileSync('sdks/test-vectors.json', 'utf8')
const expected = {
  results: JSON.parse(vectors).callbacks.map(({ result }: { result: string }) => result),
  signatures: JSON.parse(vectors).signatures.map(({ signature }: { signature: string }) => signature),
  ...{ amount: '100.50', refused: 40402, status: 1 },
}

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { webApiKey, secretKey } = await service.merchant()
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as { port: number }

/** Returns a directory with the client, the check and the program of a runtime. */
function directoryOf(t: Test, referenceId: string, program: (check: string) => string): string {
  const directory = t.testdir({ 'vectors.json': vectors, 'package.json': '{ "type": "module" }' })
  for (const file of ['client.js', 'api.js']) copyFileSync(`sdks/typescript/dist/${file}`, join(directory, file))
  copyFileSync('test/long/sdk-runtimes/check.js', join(directory, 'check.js'))
  const merchant = { baseUrl: `http://127.0.0.1:${port}`, webApiKey, secretKey, referenceId }
  writeFileSync(
    join(directory, 'program.js'),
    `import { check } from './check.js'
import vectors from './vectors.json' with { type: 'json' }
${program(`await check(vectors, ${JSON.stringify(merchant)})`)}`,
  )
  return directory
}

const print = (check: string) => `console.log(JSON.stringify(${check}))\n`
for (const [name, program, ...args] of [
  ['Node', process.execPath],
  ['Bun', join(runtimes, 'bun/bin/bun'), 'run'],
  ['Deno', join(runtimes, 'deno/deno'), 'run', '--allow-net=127.0.0.1'],
] as const) {
  t.test(`the client runs on ${name}`, { skip: name !== 'Node' && skip }, async (t) => {
    const directory = directoryOf(t, name, print)
    const { NODE_OPTIONS: _instrumentation, ...env } = process.env
    const { stdout } = await run(program, [...args, 'program.js'], { cwd: directory, env })
    t.same(JSON.parse(stdout), expected)
  })
}

t.test('the client runs in a Cloudflare Worker', { skip }, async (t) => {
  const worker = (check: string) => `export default {\n  async fetch() {\n    return Response.json(${check})\n  },\n}\n`
  const directory = directoryOf(t, 'worker', worker)
  // A module of the type `json` is imported by its name.
  const program = readFileSync(join(directory, 'program.js'), 'utf8').replace(" with { type: 'json' }", '')
  writeFileSync(join(directory, 'program.js'), program)
  const modules = ['program', 'check', 'client', 'api'].map(
    (name) => `(name = "${name}.js", esModule = embed "${name}.js")`,
  )
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [${modules.join(', ')}, (name = "vectors.json", json = embed "vectors.json")],
  compatibilityDate = "2026-01-01",
);
`
  writeFileSync(join(directory, 'config.capnp'), config)
  const args = ['serve', 'config.capnp', '--control-fd=3']
  const child = spawn(join(runtimes, 'workerd/bin/workerd'), args, {
    cwd: directory,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [event] = await once(child.stdio[3]!, 'data')
  const response = await fetch(`http://127.0.0.1:${JSON.parse(String(event)).port}/`)
  t.same(await response.json(), expected)
})

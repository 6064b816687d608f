import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { cliJson, temporaryDirectory } from '../support/processes.js'

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** Writes the address of each file that is loaded to the process's fourth stream. */
const loader = `import { writeSync } from 'node:fs'
export async function load(url, context, next) {
  if (!url.startsWith('node:')) writeSync(3, url + '\\n')
  return next(url, context)
}`
const registering = `import { register } from 'node:module'
register(${JSON.stringify(dataUrl(loader))})`

function dataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`
}

async function filesLoaded(directory: string, ...args: string[]): Promise<string[]> {
  const child = spawn(process.execPath, ['--import', dataUrl(registering), main, ...args], {
    cwd: directory,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  })
  let files = ''
  child.stdio[3]!.on('data', (chunk: Buffer) => {
    files += chunk.toString()
  })
  const [status] = (await once(child, 'close')) as [number]
  if (status !== 0) throw new Error(`exit status ${status}`)
  return files.trimEnd().split('\n')
}

// Each file costs about a millisecond of every call. One import too many once loaded 300 of them for --help.
t.test('a command loads what it uses, and --help hardly anything', async (t) => {
  const directory = temporaryDirectory(t)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--allow-ip', '192.0.2.1']
  const { id } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...shop)
  const help = await filesLoaded(directory, '--help')
  t.ok(help.length < 60, `${help.length} files`)
  t.notMatch(help.join(), /better-sqlite3|typebox|event-codec/)
  const show = await filesLoaded(directory, 'merchants', 'show', id)
  t.ok(show.length < 140, `${show.length} files`)
  t.notMatch(show.join(), /fastify|mongodb|db-client|grpc|undici|pino|read-models\/embedded|log-writer/)
  const typebox = show.filter((file) => file.includes('typebox'))
  t.equal(typebox.length, 1, 'TypeBox is one file')
})

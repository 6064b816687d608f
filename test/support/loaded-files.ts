import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Writes the URL of each loaded file to the process's fourth stream. */
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

/** Returns the files that a Node process with these arguments loads. @throws Error unless it succeeds */
export async function loadedFiles(directory: string, ...args: string[]): Promise<string[]> {
  const child = spawn(process.execPath, ['--import', dataUrl(registering), ...args], {
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

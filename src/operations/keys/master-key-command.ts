import { spawn } from 'node:child_process'
import { MasterKeyError } from './master-key-error.js'

const timeoutMs = 30_000
const maxBytes = 64 * 1024

/** Returns the command's stdout, which is not logged. Discards stderr. @throws MasterKeyError */
export async function outputOfKeyCommand(command: string, limitMs = timeoutMs): Promise<string> {
  // A separate process group, so that processes that the shell starts end with it and do not keep stdout open.
  const child = spawn(command, { shell: true, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  let problem: string | undefined
  const stop = (why: string) => {
    problem ??= why
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      child.kill('SIGKILL')
    }
  }
  const timer = setTimeout(() => stop(`did not end within ${limitMs / 1_000} s`), limitMs)
  const chunks: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) stop('printed more than keys')
    else chunks.push(chunk)
  })
  const status = await new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`could not be started: ${(error as NodeJS.ErrnoException).code}`))
    child.on('close', (code, signal) => resolve(code === 0 ? '' : `ended with ${signal ?? `status ${code}`}`))
  })
  clearTimeout(timer)
  problem ??= status
  if (problem) throw new MasterKeyError(`TRANSFERD_MASTER_KEY_COMMAND ${problem}: run it manually to see why`)
  return Buffer.concat(chunks).toString('utf8')
}

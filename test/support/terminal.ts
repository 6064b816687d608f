import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cleanEnvironment } from './processes.js'

/** Runs a program on a pseudo terminal, copies its output to stdout, and types the lines of argv[1] when their prompts appear. */
const python = `
import json, os, pty, select, sys
typed = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen = b''
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    seen += data
    if typed and typed[0][0].encode() in seen:
        os.write(fd, typed.pop(0)[1].encode())
        seen = b''
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
`

/** Runs a program on a terminal. When a prompt appears, types the text next to it. Returns what the terminal shows. */
export async function onTerminal(
  directory: string,
  command: readonly string[],
  typed: readonly (readonly [prompt: string, text: string])[] = [],
  environment: NodeJS.ProcessEnv = {},
  /** Receives everything that the terminal has shown so far. */
  onShown: (shown: string) => void = () => undefined,
): Promise<{ readonly status: number; readonly shown: string }> {
  const child = spawn('python3', ['-c', python, JSON.stringify(typed), ...command], {
    cwd: directory,
    env: { ...cleanEnvironment(), TERM: 'xterm-256color', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    onShown(shown)
  })
  const [status] = (await once(child, 'close')) as [number]
  return { status, shown: shown.replaceAll('\r\n', '\n') }
}

import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { here } from './scenarios.js'
import type { ServerUnderTest } from './server-under-test.js'

interface Selection {
  readonly answers: string
  readonly url: string
  readonly names: readonly string[]
}

export interface Comparison {
  /** The scenarios that differ, with their recorded and actual responses. */
  readonly differing: ReadonlyMap<string, string>
  readonly compared: number
}

/**
 * Runs scenarios and compares their responses with the recorded ones. It uses several processes because scenarios mostly wait, and
 * because the official client keeps the pending appends of all clients of a process in one list, which the first disconnect clears.
 */
export async function runScenarios(
  server: ServerUnderTest,
  selection: Selection,
  processes: number,
): Promise<Comparison> {
  const control = await listenForRestarts(server)
  const shares = Array.from({ length: processes }, (_, i) => selection.names.filter((_, n) => n % processes === i))
  const comparisons = await Promise.all(shares.map((names) => compare({ ...selection, names }, control)))
  control.close()
  return {
    differing: new Map(comparisons.flatMap(({ differing }) => [...differing])),
    compared: comparisons.reduce((sum, { compared }) => sum + compared, 0),
  }
}

function compare({ answers, url, names }: Selection, control: Server): Promise<Comparison> {
  if (names.length === 0) return Promise.resolve({ differing: new Map(), compared: 0 })
  const { port } = control.address() as AddressInfo
  const restart = `node -e "fetch('http://127.0.0.1:${port}').then((r) => process.exit(r.ok ? 0 : 1))"`
  const runner = spawn(
    process.execPath,
    [new URL('runner.mjs', here).pathname, 'compare', new URL(`answers/${answers}`, here).pathname],
    {
      env: { ...process.env, URL: url, ONLY: names.join('\n'), RESTART: restart },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  return new Promise((resolve) => {
    let output = ''
    let errors = ''
    runner.stdout.on('data', (text) => {
      output += text
    })
    runner.stderr.on('data', (text) => {
      errors = `${errors}${text}`.slice(-2_000)
    })
    runner.on('close', (code) => {
      const summary = /(\d+) of (\d+) scenarios as recorded/.exec(output)
      if (!summary) console.log(`a runner ended with ${code}:\n${errors}`)
      const texts = output.split(/^DIFFERS /m).slice(1)
      const differing = new Map(texts.map((text) => [text.split('\n')[0] ?? '', text.trim()]))
      resolve({ differing, compared: Number(summary?.[2] ?? 0) })
    })
  })
}

async function listenForRestarts(server: ServerUnderTest): Promise<Server> {
  const control = createServer((_request, response) => {
    server.restart().then(
      () => response.end(),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
  return control
}

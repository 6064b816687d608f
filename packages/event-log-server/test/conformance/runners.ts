import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { here } from './scenarios.js'
import type { ServerUnderTest } from './server-under-test.js'

export interface Question {
  readonly answers: string
  readonly url: string
  readonly names: readonly string[]
}

export interface Answers {
  /** With what was recorded and what was answered. */
  readonly differing: ReadonlyMap<string, string>
  readonly compared: number
}

/**
 * Runs scenarios and compares their answers. In several processes, as most of a scenario is waiting, and the official
 * client knows the appends under way of all clients of a process in one list, which the first that is cut off clears.
 */
export async function ask(server: ServerUnderTest, question: Question, processes: number): Promise<Answers> {
  const control = await listenForRestarts(server)
  const shares = Array.from({ length: processes }, (_, i) => question.names.filter((_, at) => at % processes === i))
  const answers = await Promise.all(shares.map((names) => compare({ ...question, names }, control)))
  control.close()
  return {
    differing: new Map(answers.flatMap(({ differing }) => [...differing])),
    compared: answers.reduce((sum, { compared }) => sum + compared, 0),
  }
}

function compare({ answers, url, names }: Question, control: Server): Promise<Answers> {
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
    let names = ''
    runner.stdout.on('data', (text) => {
      output += text
    })
    runner.stderr.on('data', (text) => {
      names = `${names}${text}`.slice(-2_000)
    })
    runner.on('close', (code) => {
      const summary = /(\d+) of (\d+) scenarios as recorded/.exec(output)
      if (!summary) console.log(`a runner ended with ${code}:\n${names}`)
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

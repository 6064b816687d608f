import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { SandboxCredentials } from '../../src/sandbox/sandbox.js'
import { program } from './program.js'

const startsWithinMs = 120_000

/** A test, or any other object with tap's `teardown`. */
interface Teardown {
  teardown(work: () => unknown): unknown
}

/** Creates an empty directory that is removed after the test. */
export function temporaryDirectory(t: Teardown): string {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-test-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}

/** The output of `serve --json`. */
interface Announced {
  readonly baseUrl: string
  readonly roles: readonly string[]
  readonly directory: string
  readonly sandbox?: SandboxCredentials
  readonly notices: readonly string[]
}

export interface ServiceProcess extends Announced {
  readonly port: number
  readonly pid: number
  /** Returns the JSON log lines so far. */
  log(): string
  /** Sends the signal and resolves when the process has ended, with its exit status or the signal that killed it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

interface ServiceOptions {
  /** Contains the service's directory `data`. Pass it again to restart on the same data. */
  readonly directory: string
  /** A free port by default. */
  readonly port?: number
  readonly environment?: NodeJS.ProcessEnv
  /** All roles by default. */
  readonly roles?: string
  /** The program to start. The one of this repository by default. */
  readonly main?: string
  /** Whether to create sample transfers. */
  readonly seed?: boolean
}

/** Starts the built service as its own process and waits until it is ready. Killed after the test if it still runs. */
export async function startServiceProcess(t: Teardown, options: ServiceOptions): Promise<ServiceProcess> {
  const { directory, port = 0, environment = {}, roles, main = program, seed = false } = options
  const args = [...(roles === undefined ? [] : ['--roles', roles]), ...(seed ? ['--seed'] : [])]
  const child = spawn(process.execPath, [main, 'serve', '--json', ...args], {
    cwd: directory,
    env: { ...cleanEnvironment(), PORT: String(port), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text
  })
  const ended = once(child, 'exit').then(([code, signal]) => {
    // Throws here, because a comparison of the status in the test would not show the reason.
    if (code) console.error(`the service ended with ${code}: ${output.stderr.slice(-4000)}`)
    return (code ?? signal) as number | NodeJS.Signals
  })
  const announced = await announcedBy(child, output)
  await ready(announced.baseUrl, child, output)
  return {
    ...announced,
    port: Number(new URL(announced.baseUrl).port),
    pid: child.pid!,
    log: () => output.stderr,
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}

async function announcedBy(child: ChildProcess, output: { stdout: string; stderr: string }): Promise<Announced> {
  await waitFor(child, output, async () => output.stdout.includes('\n'))
  return JSON.parse(output.stdout) as Announced
}

async function ready(baseUrl: string, child: ChildProcess, output: { stderr: string }): Promise<void> {
  await waitFor(child, output, () =>
    fetch(`${baseUrl}/health/ready`).then(
      (response) => response.ok,
      () => false,
    ),
  )
}

async function waitFor(
  child: ChildProcess,
  output: { stderr: string },
  reached: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + startsWithinMs
  while (!(await reached())) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      throw new Error(`the service did not start (exit status ${child.exitCode}):\n${output.stderr}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export interface Finished {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the built `transferd` with these arguments in the directory, to its end. */
export async function runCli(
  directory: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: directory,
    env: { ...cleanEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [status] = (await once(child, 'close')) as [number]
  return { status, stdout, stderr }
}

type Run = (directory: string, args: readonly string[]) => Promise<Finished>

/** Returns the JSON document that a successful command prints. @throws if the command fails or prints anything else */
export function jsonOf(run: Run) {
  return async <Answer>(directory: string, ...args: string[]): Promise<Answer> => {
    const { status, stdout, stderr } = await run(directory, [...args, '--json'])
    if (status !== 0) throw new Error(`transferd ${args.join(' ')}: exit status ${status}: ${stderr}${stdout}`)
    return JSON.parse(stdout) as Answer
  }
}

/** Returns the items of a list that has only one page. @throws if there are more */
export function itemsOf(run: Run) {
  return async <Item>(directory: string, ...args: string[]): Promise<Item[]> => {
    const { items, nextCursor } = await jsonOf(run)<{ items: Item[]; nextCursor: string | null }>(directory, ...args)
    if (nextCursor !== null) throw new Error(`transferd ${args.join(' ')}: the list has a second page`)
    return items
  }
}

export const cliJson = jsonOf(runCli)

/** Returns the environment without the configuration of a service that belongs to the user who runs the tests. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER']
  return Object.fromEntries(inherited.map((name) => [name, process.env[name]]))
}

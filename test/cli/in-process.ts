import { run } from '../../src/cli/program.js'
import { environmentSchema } from '../../src/operations/configuration/configuration.js'
import { type Finished, itemsOf, jsonOf } from '../support/processes.js'

/**
 * The environment of the person who runs the tests. It must not configure the commands, but the tests of another file in this process can
 * need it.
 */
const ownEnvironment = Object.keys(environmentSchema.properties)
  .flatMap((name) => [name, `${name}_FILE`])
  .flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]))

const home = process.cwd()
/** The directory and environment of the running commands. A process has only one of each. */
let current: { readonly key: string; running: number } | undefined

/** Runs a command like `runCli` in test/support/processes.ts, but in this process, which takes a tenth of the time. */
export async function runCli(
  directory: string,
  args: readonly string[],
  environment: { readonly [name: string]: string } = {},
): Promise<Finished> {
  const key = JSON.stringify([directory, environment])
  if (current === undefined) {
    current = { key, running: 0 }
    process.chdir(directory)
    for (const [name] of ownEnvironment) delete process.env[name]
    Object.assign(process.env, environment)
  }
  if (current.key !== key) throw new Error('a command with a different directory or environment is running')
  const shared = current
  shared.running++
  let stdout = ''
  let stderr = ''
  try {
    const status = await run(['node', 'transferd', ...args], {
      writeOut: (text) => {
        stdout += text
      },
      writeErr: (text) => {
        stderr += text
      },
    })
    return { status, stdout, stderr }
  } finally {
    if (--shared.running === 0) {
      current = undefined
      for (const name of Object.keys(environment)) delete process.env[name]
      Object.assign(process.env, Object.fromEntries(ownEnvironment))
      process.chdir(home)
    }
  }
}

export const cliJson = jsonOf(runCli)
export const cliItems = itemsOf(runCli)

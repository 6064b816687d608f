import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'

const run = promisify(execFile)
t.setTimeout(900_000)

const oldestMinor = 9

/** Returns the paths of the oldest supported and the newest installed Python that can create an environment. */
async function pythons(): Promise<readonly string[]> {
  const minors = [9, 10, 11, 12, 13, 14].map((minor) => `python3.${minor}`)
  const found = await Promise.all(['python3', ...minors, ...installedByPyenv()].map(examined))
  const usable = found.filter((each) => each !== undefined).sort((a, b) => a.minor - b.minor)
  return [...new Set([usable[0], usable.at(-1)])].flatMap((each) => each?.path ?? [])
}

function installedByPyenv(): string[] {
  const versions = join(homedir(), '.pyenv/versions')
  try {
    return readdirSync(versions).map((version) => join(versions, version, 'bin/python'))
  } catch {
    return []
  }
}

async function examined(path: string): Promise<{ path: string; minor: number } | undefined> {
  try {
    const { stdout } = await run(path, ['-c', 'import sys, ensurepip, venv; print(*sys.version_info[:2])'])
    const [major, minor] = stdout.split(' ').map(Number)
    return major === 3 && minor! >= oldestMinor ? { path, minor: minor! } : undefined
  } catch {
    return undefined
  }
}

/** Installs the client in a separate environment. Returns the folder of its programs. */
async function installed(t: Test, python: string, ...tools: string[]): Promise<string> {
  const directory = temporaryDirectory(t)
  await run(python, ['-m', 'venv', directory])
  await run(join(directory, 'bin/pip'), ['install', '--quiet', './sdks/python', ...tools])
  return join(directory, 'bin')
}

function accessTo({ baseUrl, sandbox }: ServiceProcess): NodeJS.ProcessEnv {
  return {
    ...{ TRANSFERD_URL: baseUrl, TRANSFERD_API_KEY: sandbox!.webApiKey },
    ...{ TRANSFERD_SECRET_KEY: sandbox!.secretKey, TRANSFERD_WEBHOOK_SECRET: sandbox!.webhookSecret },
  }
}

const versions = await pythons()

t.test('the Python client', { skip: versions.length > 0 ? false : 'Python with venv is not available' }, async (t) => {
  for (const python of versions) {
    await t.test(`passes its tests with ${python}`, async (t) => {
      const bin = await installed(t, python, 'pytest')
      const service = await startServiceProcess(t, { directory: temporaryDirectory(t) })
      const options = ['-q', '-p', 'no:cacheprovider', '-W', 'error', 'sdks/python/tests']
      const env = { ...process.env, ...accessTo(service), PYTHONDONTWRITEBYTECODE: '1' }
      const { stdout } = await run(join(bin, 'python'), ['-m', 'pytest', ...options], { env }).catch((error) => error)
      t.match(stdout, /^\d{3} passed in/m)
    })
  }

  t.test('has complete types', async (t) => {
    const bin = await installed(t, versions.at(-1)!, 'mypy')
    const directory = temporaryDirectory(t)
    // A program that uses the installed package sees its types only if the package contains py.typed.
    const lines = ['from transferd import Client, Transfer', 'wrong: int = Client("http://x", "k").get_transfer("t")']
    writeFileSync(join(directory, 'wrong.py'), `${lines.join('\n')}\n`)
    const check = (file: string) =>
      run(join(bin, 'mypy'), ['--strict', '--cache-dir', directory, file]).catch((error) => error)
    t.match((await check('sdks/python/src')).stdout, /^Success: no issues found/)
    t.match((await check(join(directory, 'wrong.py'))).stdout, /"Transfer", variable has type "int"/)
    const [firstPage] = readFileSync('sdks/python/README.md', 'utf8').split('\n## ')
    for (const [index, [, program]] of [...firstPage!.matchAll(/```python\n([\s\S]*?)```/g)].entries()) {
      const file = join(directory, `readme_${index}.py`)
      writeFileSync(file, program!)
      const { stdout } = await run(join(bin, 'mypy'), ['--check-untyped-defs', '--cache-dir', directory, file])
      t.match(stdout, /^Success: no issues found/, `program ${index} of the README`)
    }
  })
})

import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'

const run = promisify(execFile)
t.setTimeout(300_000)

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', 'import ensurepip, sys; sys.exit(sys.version_info < (3, 9))'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

for (const [language, skip] of [
  ['typescript', false],
  ['python', !hasPython() && 'Python 3.9 with venv is not installed'],
] as const) {
  t.test(`the README of the ${language} client is enough to receive a verified callback`, { skip }, async (t) => {
    const { NODE_OPTIONS: _instrumentation, ...env } = process.env
    const { stdout } = await run(process.execPath, ['scripts/try-sdk.js', language], { env })
    t.match(stdout, /the receiver printed:[\s\S]*[\w-]{36}: .*66\.01/)
  })
}

t.test('a client has at most 600 hand-written lines', async (t) => {
  for (const files of [
    ['sdks/typescript/src/client.ts'],
    ['sdks/python/src/transferd/client.py', 'sdks/python/src/transferd/__init__.py'],
  ]) {
    const lines = files.flatMap((file) => readFileSync(file, 'utf8').split('\n')).length
    t.ok(lines <= 600, `${files.join(' and ')} have ${lines} lines`)
  }
})

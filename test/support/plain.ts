import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/**
 * What tap runs instead of a test file (package.json, `node-arg`): starts the file in a process of its own, without the loaders tap
 * brings for mocks and coverage. Neither is used here, and as every thread and every child process loads them again, a run took
 * three times as long.
 */
const [, , ...file] = process.argv
// tap puts its loader into the environment of whatever is spawned; `env` takes it out.
const own = (process.env.NODE_OPTIONS ?? '').split(' ').filter((option) => !option.includes('@tapjs'))
const options = own.join('') === '' ? ['-u', 'NODE_OPTIONS'] : [`NODE_OPTIONS=${own.join(' ')}`]
const child = spawn('env', [...options, process.execPath, '--enable-source-maps', ...file], { stdio: 'inherit' })
for (const signal of ['SIGALRM', 'SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal!]
})

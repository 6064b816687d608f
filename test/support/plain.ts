import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/**
 * Loaded before whatever tap loads into the process of a test file (package.json, `test-env`), which therefore gets no further than
 * this: the file runs in a process of its own, without the loaders tap brings for mocks and coverage. Neither is used here; they cost
 * half a second of processor time to load, and every thread and every child process of a test would load them again.
 */
const file = process.argv.slice(1)
const { NODE_OPTIONS: _tapsOwn, ...environment } = process.env
const child = spawn(process.execPath, ['--enable-source-maps', ...file], { stdio: 'inherit', env: environment })
for (const signal of ['SIGALRM', 'SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
await new Promise(() => {
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal!]))
})

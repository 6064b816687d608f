import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

/**
 * Runs a test file in a process without tap's loaders. package.json (`test-env`) loads this module before them, so that
 * tap's process only starts the process of the test file. The loaders are for mocks and coverage, which no test uses,
 * and every thread and child process of a test would spend half a second of CPU time to load them again.
 */
const file = process.argv.slice(1)
const { NODE_OPTIONS: _tapsOwn, ...environment } = process.env
// An absolute path, because a thread of a test that has changed its directory loads the module too.
const withoutAsyncHooks = fileURLToPath(new URL('./without-async-hooks.cjs', import.meta.url))
const options = ['--enable-source-maps', '--require', withoutAsyncHooks]
const child = spawn(process.execPath, [...options, ...file], { stdio: 'inherit', env: environment })
for (const signal of ['SIGALRM', 'SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
await new Promise(() => {
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal!]))
})

import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const sources = ['dist/src', 'packages/event-log/dist/src', 'packages/event-log-server/dist/src']
// The bundler writes this file.
const bundledForTests = join('schema', 'typebox.js')

/** The built `transferd` in its installed form. */
export const program = join(root, 'dist/bin/transferd.js')

// After `tsc -b` without a bundle, the tests would run an outdated program.
if (lastChangeMs() > (statSync(program, { throwIfNoEntry: false })?.mtimeMs ?? 0)) {
  execFileSync(process.execPath, ['scripts/bundle.js'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
}

function lastChangeMs(): number {
  const compiled = sources.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js') && name !== bundledForTests)
      .map((name) => join(folder, name)),
  )
  const files = [...compiled, 'package-lock.json', 'scripts/bundle.js']
  return Math.max(...files.map((file) => statSync(join(root, file)).mtimeMs))
}

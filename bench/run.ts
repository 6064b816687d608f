/** `npm run bench` runs every part, `npm run bench -- engines` the named ones. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const parts = ['engine', 'projections', 'http', 'engines']
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !parts.includes(name))
if (unknown.length > 0) {
  console.error(`there is no ${unknown.join(', ')}; parts are ${parts.join(', ')}`)
  process.exit(2)
}
for (const name of asked.length > 0 ? asked : parts) {
  const file = fileURLToPath(new URL(`${name}.js`, import.meta.url))
  const { status } = spawnSync(process.execPath, [file], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

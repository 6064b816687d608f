import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { note } from './bench-report.js'

const folder = fileURLToPath(new URL('../../../bench/peers/', import.meta.url))
const lock = `${folder}package-lock.json`
const installed = `${folder}node_modules/.package-lock.json`

/** Installs the packages that only the peers need, with their own lockfile. Returns whether they are installed. */
export function installPeers(): boolean {
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return true
  const { status } = spawnSync('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) note('NOT RUN: all peers except bare Fastify, because npm could not install bench/peers')
  return status === 0
}

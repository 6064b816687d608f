import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { note } from './bench-report.js'

const folder = fileURLToPath(new URL('../../../bench/peers/', import.meta.url))
const lock = `${folder}package-lock.json`
const installed = `${folder}node_modules/.package-lock.json`

/** What the peers need and transferd does not is installed beside them, by their own lockfile. Answers whether it is there. */
export function installPeers(): boolean {
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return true
  const { status } = spawnSync('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) note('NOT RUN: the peers but bare Fastify, as npm could not install bench/peers')
  return status === 0
}

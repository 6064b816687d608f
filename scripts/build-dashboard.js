// Builds web/dashboard into dist/web/dashboard if a source file has changed since the last build.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const built = 'dist/web/dashboard'
const mark = 'dist/dashboard.built-from'
// The sources: the pages, the server files that they import, and the build configuration.
const sources = [
  'web/dashboard',
  'src/http/dashboard/api.ts',
  'src/http/refusals.ts',
  'src/domain',
  'src/kernel',
  'tsconfig.base.json',
  'package-lock.json',
  'scripts/build-dashboard.js',
]

const from = hashOf(sources.flatMap(filesOf))
if (existsSync(join(built, 'index.html')) && existsSync(mark) && readFileSync(mark, 'utf8') === from) process.exit(0)

run('tsc', ['-p', 'web/dashboard'])
run('vite', ['build', '--config', 'web/dashboard/vite.config.ts', '--logLevel', 'warn'])
// Compress the files now, so that the process that serves payments does not have to.
for (const file of filesOf(built)) {
  if (!/\.(js|css|svg)$/.test(file)) continue
  const content = readFileSync(file)
  writeFileSync(`${file}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }))
  // The default quality is 11, the best.
  writeFileSync(`${file}.br`, brotliCompressSync(content))
}
writeFileSync(mark, from)

/** @param {string} path */
function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((file) => statSync(file).isFile())
    .sort()
}

/** @param {string[]} files */
function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(file))
  return hash.digest('hex')
}

/** @param {string} command @param {string[]} args */
function run(command, args) {
  const { status } = spawnSync(join('node_modules/.bin', command), args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

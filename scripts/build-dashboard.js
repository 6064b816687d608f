// Builds web/dashboard and web/documentation into dist/web if a source file has changed since the last build.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'

const built = 'dist/web/dashboard'
const documentation = 'dist/web/documentation'
const mark = 'dist/dashboard.built-from'
// The sources: the pages, the server files that they import, and the build configuration.
const sources = [
  'web/dashboard',
  'web/documentation',
  'web/payment-page/icon.svg',
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
compress(built)
// The files of the pages at /documentation: the script and the style of Swagger UI, which its package for Fastify contains.
const swagger = 'node_modules/@fastify/swagger-ui/static'
rmSync(documentation, { recursive: true, force: true })
mkdirSync(documentation, { recursive: true })
for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css'])
  copyFileSync(join(swagger, name), join(documentation, name))
for (const name of ['page.js', 'page.css']) copyFileSync(join('web/documentation', name), join(documentation, name))
copyFileSync('web/payment-page/icon.svg', join(documentation, 'icon.svg'))
const [, swaggerVersion] = /PACKAGE_VERSION:"([\d.]+)"/.exec(
  readFileSync(join(documentation, 'swagger-ui-bundle.js'), 'utf8'),
)
if (!readFileSync('web/documentation/swagger-ui.LICENSES.txt', 'utf8').startsWith(`swagger-ui ${swaggerVersion} `))
  throw new Error(`web/documentation/swagger-ui.LICENSES.txt is not that of swagger-ui ${swaggerVersion}`)
compress(documentation)
writeFileSync(mark, from)

/** Compresses the files now, so that the process that serves payments does not have to. @param {string} folder */
function compress(folder) {
  for (const file of filesOf(folder)) {
    if (!/\.(js|css|svg)$/.test(file)) continue
    // The default quality is 11, the best.
    writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)))
    rmSync(file)
  }
}

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

// node scripts/pack.js <directory> [--all-platforms]: packs the service and the packages into the directory, in the form in which they are
// published. The manifests of the repository also list what only the repository needs. @transferd/sqlite-node20 contains the binary of
// this machine; with --all-platforms, those of all platforms, which it downloads.
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { build } from 'esbuild'
import { licencesOf } from './third-party.js'

const [directory] = process.argv.slice(2)
if (directory === undefined) throw new Error('usage: node scripts/pack.js <directory> [--all-platforms]')
const allPlatforms = process.argv.includes('--all-platforms')

const onlyOfRepository = ['private', 'scripts', 'devDependencies', 'workspaces', 'overrides', 'allowScripts']
/** The entry points of the log for the service, which contains them, and for tests. */
const onlyInRepository = ['./sqlite', './test/*']
const sqlite = 'packages/sqlite-node20'
const { version, workspaces } = manifestIn('.')

mkdirSync(directory, { recursive: true })
const scratch = mkdtempSync(join(tmpdir(), 'transferd-pack-'))
try {
  for (const folder of ['.', ...workspaces]) {
    execFileSync('tar', ['-xzf', join(scratch, pack(folder, scratch)), '-C', scratch])
    if (folder === '.') copyFileSync('dist/THIRD-PARTY.txt', join(scratch, 'package/THIRD-PARTY.txt'))
    publish(folder)
  }
  // npm installs its dependency, better-sqlite3 12, only on Node 20.
  if (Number.parseInt(process.versions.node, 10) === 20) {
    await stageSqlite(join(scratch, 'package'))
    publish(sqlite)
  } else if (allPlatforms) throw new Error('@transferd/sqlite-node20 can be packed only on Node 20')
} finally {
  rmSync(scratch, { recursive: true })
}

function manifestIn(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/** Packs a folder and returns the name of the file. */
function pack(folder, destination) {
  const options = ['--json', '--ignore-scripts', '--pack-destination', resolve(destination)]
  const packed = execFileSync('npm', ['pack', ...options, folder.startsWith('/') ? folder : `./${folder}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [report] = Object.values(JSON.parse(packed))
  // npm replaces the scope's slash in the name of the file, but not in its report.
  return report.filename.replace(/^@/, '').replace('/', '-')
}

/** Packs the staged files of a package with the published form of its manifest, and prints the name of the file. */
function publish(folder) {
  const staged = join(scratch, 'package')
  for (const notice of ['LICENSE', 'NOTICE']) copyFileSync(notice, join(staged, notice))
  removeSourceMapLinks(staged)
  const manifest = manifestIn(folder)
  for (const field of onlyOfRepository) delete manifest[field]
  for (const entry of onlyInRepository) delete manifest.exports?.[entry]
  if (folder === sqlite) delete manifest.dependencies
  for (const dependencies of [manifest.dependencies, manifest.optionalDependencies])
    for (const [name, range] of Object.entries(dependencies ?? {}))
      if (range.startsWith('file:')) dependencies[name] = version
  manifest.files = readdirSync(staged).filter((name) => name !== 'package.json')
  writeFileSync(join(staged, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  console.log(pack(staged, directory))
  rmSync(staged, { recursive: true })
}

/** The packages contain no source maps, because they contain no sources. */
function removeSourceMapLinks(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(js|ts)$/.test(name)) continue
    const text = readFileSync(join(folder, name), 'utf8')
    const without = text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n')
    if (without !== text) writeFileSync(join(folder, name), without)
  }
}

/** Bundles better-sqlite3 with its binaries, so that npm neither compiles nor downloads anything. */
async function stageSqlite(staged) {
  const require = createRequire(resolve(sqlite, 'index.js'))
  const source = dirname(require.resolve('better-sqlite3/package.json'))
  mkdirSync(join(staged, 'binaries'), { recursive: true })
  const { metafile } = await build({
    ...{ entryPoints: [join(sqlite, 'index.js')], outfile: join(staged, 'index.js') },
    ...{ bundle: true, platform: 'node', target: 'node20', metafile: true, logLevel: 'warning' },
    alias: { bindings: resolve(sqlite, 'binary.js') },
  })
  const folders = Object.keys(metafile.inputs).map((input) => input.match(/^.*node_modules\/[^/]+/)?.[0])
  writeFileSync(join(staged, 'THIRD-PARTY.txt'), licencesOf([...new Set(folders)].filter(Boolean)))
  copyFileSync(join(sqlite, 'README.md'), join(staged, 'README.md'))
  const binary = 'build/Release/better_sqlite3.node'
  if (!allPlatforms) {
    copyFileSync(join(source, binary), join(staged, 'binaries', `${process.platform}-${process.arch}.node`))
    return
  }
  const copy = join(scratch, 'better-sqlite3')
  mkdirSync(copy)
  cpSync(join(source, 'package.json'), join(copy, 'package.json'))
  for (const platform of ['linux', 'linuxmusl', 'darwin', 'win32']) {
    for (const arch of ['x64', 'arm64']) {
      const options = ['--platform', platform.replace('musl', ''), '--arch', arch, '--target', '20.19.0']
      const libc = platform === 'linuxmusl' ? ['--libc', 'musl'] : []
      const program = join(dirname(require.resolve('prebuild-install/package.json')), 'bin.js')
      execFileSync(process.execPath, [program, ...options, ...libc], { cwd: copy, stdio: 'inherit' })
      copyFileSync(join(copy, binary), join(staged, 'binaries', `${platform}-${arch}.node`))
      rmSync(join(copy, 'build'), { recursive: true })
    }
  }
}

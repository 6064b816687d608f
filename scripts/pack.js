// node scripts/pack.js <directory>: packs the service and the packages into the directory, in the form in which they are published. The
// manifests of the repository also list what the bundle contains and what only builds and tests need.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { external } from './third-party.js'

const [directory] = process.argv.slice(2)
if (directory === undefined) throw new Error('usage: node scripts/pack.js <directory>')
const onlyOfRepository = ['scripts', 'devDependencies', 'workspaces', 'tap', 'overrides', 'allowScripts']

mkdirSync(directory, { recursive: true })
const scratch = mkdtempSync(join(tmpdir(), 'transferd-pack-'))
try {
  for (const folder of ['.', ...JSON.parse(readFileSync('package.json', 'utf8')).workspaces]) {
    const [{ filename }] = pack(folder, scratch)
    execFileSync('tar', ['-xzf', join(scratch, filename), '-C', scratch])
    const staged = join(scratch, 'package')
    for (const notice of ['LICENSE', 'NOTICE'])
      if (!existsSync(join(staged, notice))) copyFileSync(notice, join(staged, notice))
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(published(folder, staged), null, 2)}\n`)
    console.log(pack(staged, resolve(directory))[0].filename)
    rmSync(staged, { recursive: true })
  }
} finally {
  rmSync(scratch, { recursive: true })
}

function pack(folder, destination) {
  const options = ['--json', '--ignore-scripts', '--pack-destination', destination]
  const packed = execFileSync('npm', ['pack', ...options, folder.startsWith('/') ? folder : `./${folder}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  // npm replaces the scope's slash in the name of the file, but not in its report.
  return JSON.parse(packed).map((each) => ({ filename: each.filename.replace(/^@/, '').replace('/', '-') }))
}

function published(folder, staged) {
  const manifest = JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8'))
  for (const field of onlyOfRepository) delete manifest[field]
  if (manifest.exports) delete manifest.exports['./test/*']
  if (folder === '.')
    manifest.dependencies = Object.fromEntries(external.map((name) => [name, manifest.dependencies[name]]))
  manifest.files = [...(manifest.files ?? []), 'NOTICE']
  return manifest
}

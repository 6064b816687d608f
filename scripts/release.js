// npm run release -- <version> [--dry-run]: requires a clean tree and a passing check. Creates a commit with the new version and the
// dated changes, a tag, and the packages in release/. It neither pushes nor publishes. With --dry-run, it changes nothing.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const dryRun = process.argv.includes('--dry-run')
const [version = ''] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const manifests = [
  'package.json',
  'packages/event-log/package.json',
  'packages/event-log-server/package.json',
  'packages/sqlite-node20/package.json',
  'packages/transparency-log/package.json',
  'sdks/typescript/package.json',
]
const unreleased = '## Unreleased\n'

function fail(reason) {
  console.error(reason)
  process.exit(1)
}

function run(command, ...args) {
  console.log(`> ${command} ${args.join(' ')}`)
  if (spawnSync(command, args, { stdio: 'inherit' }).status !== 0) fail(`${command} ${args.join(' ')} failed`)
}

const output = (command, ...args) => spawnSync(command, args, { encoding: 'utf8' }).stdout.trim()
const parts = (text) => text.split('.').map(Number)
const compare = ([a, b, c], [x, y, z]) => a - x || b - y || c - z

const { version: current } = JSON.parse(readFileSync('package.json', 'utf8'))
const changes = readFileSync('CHANGELOG.md', 'utf8')
if (!/^\d+\.\d+\.\d+$/.test(version)) fail('usage: npm run release -- <major.minor.patch> [--dry-run]')
// The first release can have the current version.
const tagged = output('git', 'tag', '--list', `v${current}`) !== ''
if (compare(parts(version), parts(current)) < (tagged ? 1 : 0)) fail(`${version} is not newer than ${current}`)
if (output('git', 'tag', '--list', `v${version}`) !== '') fail(`the tag v${version} already exists`)
if (!process.version.startsWith('v20.')) fail('packing @transferd/sqlite-node20 requires Node 20')
if (output('git', 'status', '--porcelain') !== '') fail('commit or remove your uncommitted changes first')
const [, before, after] =
  changes.match(/^([\s\S]*?)## Unreleased\n([\s\S]*)$/) ?? fail('CHANGELOG.md lists no unreleased changes')
if (!/^\s*(#{3,} |- |\w)/.test(after)) fail('CHANGELOG.md lists no unreleased changes')

run('npm', 'run', 'check')
if (dryRun) {
  run('npm', 'run', 'build', '--silent')
  const scratch = mkdtempSync(join(tmpdir(), 'transferd-release-'))
  run('node', 'scripts/pack.js', scratch, '--all-platforms')
  rmSync(scratch, { recursive: true })
  console.log(`v${version} could be released; nothing was changed`)
  process.exit()
}

const today = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)
writeFileSync('CHANGELOG.md', `${before}${unreleased}\n## ${version} (${today})\n${after}`)
for (const file of manifests) {
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  manifest.version = version
  for (const dependencies of [manifest.dependencies, manifest.devDependencies])
    for (const name of Object.keys(dependencies ?? {})) if (name.startsWith('@transferd/')) dependencies[name] = version
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
}
const pythonClient = 'sdks/python/src/transferd/client.py'
const python = readFileSync(pythonClient, 'utf8')
writeFileSync(pythonClient, python.replace(/^__version__ = ".*"$/m, `__version__ = "${version}"`))
run('npm', 'install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund')
run('npm', 'run', 'build', '--silent')
run('node', 'scripts/pack.js', 'release', '--all-platforms')
run('git', 'commit', '--quiet', '--all', '--message', `Release ${version}`)
run('git', 'tag', '--annotate', `v${version}`, '--message', `Release ${version}`)
console.log(`v${version} is committed, tagged and packed. Next, in this order:\n\n  git push --follow-tags`)
// The service is the first by name and the last to publish, because npm would omit a missing optional dependency without an error.
const packed = readdirSync('release').filter((name) => name.endsWith(`-${version}.tgz`))
for (const name of packed.sort().reverse()) console.log(`  npm publish ./release/${name}`)
console.log('  python3 -m build sdks/python --outdir release && python3 -m twine upload release/transferd-*.whl')
console.log('\nnpm creates the provenance only in GitHub Actions and GitLab CI. Elsewhere, add --provenance=false.')

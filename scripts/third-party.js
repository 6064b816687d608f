// The packages that the bundle in dist/bin loads when it runs, and the licences of those that the tarball contains.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The native packages that the bundle requires by name. The published manifest lists them. */
export const external = ['@node-rs/argon2', 'sodium-native']

/** Returns the folders of the packages that the sources in a folder import, with their dependencies. */
export function importedPackages(folder) {
  const found = new Set()
  const add = (name, from) => {
    const path = [join(from, 'node_modules', name), join('node_modules', name)].find((each) => existsSync(each))
    if (path === undefined || found.has(path)) return
    found.add(path)
    const { dependencies = {} } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    for (const dependency of Object.keys(dependencies)) add(dependency, path)
  }
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(tsx?|css)$/.test(file),
  )
  for (const source of sources) {
    const text = readFileSync(join(folder, source), 'utf8')
    for (const [, name] of text.matchAll(/(?:from|import|url\()\s*['"]((?:@[\w.-]+\/)?[\w-][\w.-]*)[^'"]*['"]/g))
      add(name, '.')
  }
  return [...found]
}

/** Returns the name, version and licence of each package, with each text once. `others` are further entries. */
export function licencesOf(folders, others = []) {
  const packages = new Map()
  for (const path of folders) {
    const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    const files = readdirSync(path).filter((file) => /^(licen[cs]e|notice)/i.test(file))
    const text = files.map((file) => readFileSync(join(path, file), 'utf8').trim()).join('\n\n')
    packages.set(text, [...(packages.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const entries = [...packages].map(([text, names]) => `${[...new Set(names)].sort().join('\n')}\n\n${text}`.trim())
  return `${[...entries, ...others].sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

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

/** Returns the name, version and licence of each package. */
export function licencesOf(folders) {
  const texts = folders.map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    const files = readdirSync(path).filter((file) => /^(licen[cs]e|notice)/i.test(file))
    return [`${name} ${version} (${license})`, ...files.map((file) => readFileSync(join(path, file), 'utf8').trim())]
  })
  return `${[...new Set(texts.map((text) => text.join('\n\n')))].sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

// Returns the binary of better-sqlite3 for this platform. In the published package, it replaces the package `bindings`.
const { existsSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

module.exports = () => {
  const isMusl = process.platform === 'linux' && readFileSync('/proc/self/maps', 'latin1').includes('/ld-musl-')
  const platform = `${process.platform}${isMusl ? 'musl' : ''}-${process.arch}`
  const file = join(__dirname, 'binaries', `${platform}.node`)
  if (!existsSync(file)) throw new Error(`@transferd/sqlite-node20 has no binary for ${platform}: use Node 22 or later`)
  return require(file)
}

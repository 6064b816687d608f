// npm test [-- word… option…]: every test, or those whose path has one of the words. What begins with `-` is passed on to tap.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

const given = process.argv.slice(2)
const words = given.filter((word) => !word.startsWith('-'))
const options = given.filter((option) => option.startsWith('-'))

const packages = readdirSync('packages').map((name) => `packages/${name}/dist/test`)
const files = ['dist/test', ...packages]
  .flatMap((root) => readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => `${root}/${file}`))
  .filter((file) => file.endsWith('.test.js') && words.some((word) => file.includes(word)))
if (words.length > 0 && files.length === 0) {
  console.error(`no test has ${words.join(' or ')} in its path`)
  process.exit(1)
}
process.exit(spawnSync('tap', [...options, ...files], { stdio: 'inherit' }).status ?? 1)

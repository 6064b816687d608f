import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'

const skip =
  `${process.platform}-${process.arch}` === 'linux-x64'
    ? false
    : 'other versions of Node are downloaded for Linux on x64'
// The package for Node 20 can be packed only there.
const versions = [process.versions.node.startsWith('20.') ? '20' : '22', '26']

t.test('the packages install without a compiler and work on the oldest and the newest Node', { skip }, async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/try-packages.js', ...versions])
  t.comment(stdout)
  for (const version of versions) t.match(stdout, new RegExp(`^Node ${version}\\.\\S+ \\d+ packages, .* restore$`, 'm'))
})

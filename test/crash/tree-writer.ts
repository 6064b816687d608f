import { DirectoryTiles, formatCheckpoint, parseSigner, signNote, TreeAppender } from '@transferd/transparency-log'
import { checkpointPath, signedCheckpoint } from '../../src/audit/integrity/log-sealer.js'

// Extends a tree from its last checkpoint until it is killed. The arguments are the directory, the step and the key.
const [directory = '', step = '1', key = ''] = process.argv.slice(2)
const [tiles, signer] = [new DirectoryTiles(directory), parseSigner(key)]
const before = await signedCheckpoint(tiles, signer)
const appender = await TreeAppender.open(tiles, before?.size ?? 0)
for (;;) {
  const entries = Array.from({ length: Number(step) }, (_, index) => Buffer.from(`entry ${appender.size + index}`))
  await appender.append(entries)
  await appender.flush()
  const checkpoint = { origin: signer.name, size: appender.size, root: appender.root() }
  await tiles.write(checkpointPath, Buffer.from(signNote(formatCheckpoint(checkpoint), [signer])))
  process.stdout.write(`${appender.size}\n`)
}

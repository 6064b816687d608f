import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import {
  DirectoryTiles,
  filesSince,
  generateSigner,
  MemoryTiles,
  parseSigner,
  TreeAppender,
  TreeReader,
} from '@transferd/transparency-log'
import t from 'tap'
import { signedCheckpoint } from '../../src/audit/integrity/log-sealer.js'
import { long } from '../support/long.js'
import { temporaryDirectory } from '../support/processes.js'

const rounds = long ? 12 : 3

const key = generateSigner('log.example/killed')
const signer = parseSigner(key)

/** Extends the tree in a process, kills it after some checkpoints, and returns the last size that it printed. */
async function growUntilKilled(directory: string, step: number, checkpoints: number): Promise<number> {
  const writer = spawn(process.execPath, ['dist/test/crash/tree-writer.js', directory, String(step), key])
  let size = 0
  let printed = 0
  for await (const line of createInterface({ input: writer.stdout })) {
    size = Number(line)
    if (++printed === checkpoints) writer.kill('SIGKILL')
  }
  if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit')
  return size
}

t.test('a writer of tiles that is killed repeatedly leaves the same tree as an uninterrupted one', async (t) => {
  const directory = temporaryDirectory(t)
  let size = 0
  for (let round = 0; round < rounds; round++) {
    // Different steps fill tiles during a flush or between two flushes.
    const reported = await growUntilKilled(directory, [7, 100, 300][round % 3]!, 5 + (round % 4))
    const tiles = new DirectoryTiles(directory)
    const checkpoint = (await signedCheckpoint(tiles, signer))!
    // The reported size was signed. The process may have signed more before it ended.
    t.ok(reported > size && checkpoint.size >= reported)
    size = checkpoint.size
    const uninterrupted = new MemoryTiles()
    const appender = await TreeAppender.open(uninterrupted, 0)
    await appender.append(Array.from({ length: size }, (_, index) => Buffer.from(`entry ${index}`)))
    await appender.flush()
    const read = async (path: string) => (await tiles.read(path)) ?? (await tiles.read(path.replace(/\.p\/.*/, '')))
    for (const path of filesSince(0, size)) {
      const expected = uninterrupted.files.get(path)!
      const found = Buffer.from((await read(path)) ?? [])
      if (!found.subarray(0, expected.length).equals(expected)) t.fail(`${path} at ${size}`)
    }
    t.ok(checkpoint.root.equals(appender.root()), 'the files match the signed checkpoint')
    t.ok((await new TreeReader(tiles, size).root()).equals(appender.root()))
    t.ok((await TreeAppender.open(tiles, size)).root().equals(appender.root()))
  }
})

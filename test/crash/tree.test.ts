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

const rounds = long ? 25 : 3

const key = generateSigner('log.example/killed')
const signer = parseSigner(key)

/** Grows the tree in a process of its own and kills it after so many checkpoints, in the middle of something. Answers the last size it told. */
async function grown(directory: string, step: number, checkpoints: number): Promise<number> {
  const writer = spawn(process.execPath, ['dist/test/crash/tree-writer.js', directory, String(step), key])
  let size = 0
  let told = 0
  for await (const line of createInterface({ input: writer.stdout })) {
    size = Number(line)
    if (++told === checkpoints) writer.kill('SIGKILL')
  }
  if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit')
  return size
}

t.test('a writer of tiles that is killed again and again leaves the tree that was never interrupted', async (t) => {
  const directory = temporaryDirectory(t)
  let size = 0
  for (let round = 0; round < rounds; round++) {
    // A step at a time fills tiles in the middle of one flush or between two.
    const told = await grown(directory, [7, 100, 300][round % 3]!, 5 + (round % 4))
    const tiles = new DirectoryTiles(directory)
    const checkpoint = (await signedCheckpoint(tiles, signer))!
    // What it told was signed; it may have signed more before it was dead.
    t.ok(told > size && checkpoint.size >= told)
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
    t.ok(checkpoint.root.equals(appender.root()), 'its files are those of the checkpoint that is signed')
    t.ok((await new TreeReader(tiles, size).root()).equals(appender.root()))
    t.ok((await TreeAppender.open(tiles, size)).root().equals(appender.root()))
  }
})

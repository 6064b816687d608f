import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { generateSigner, MemoryTiles, parseSigner } from '@transferd/transparency-log'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { CheckpointPublisher, type CopyTarget } from '../../src/audit/integrity/checkpoint-publisher.js'
import { LogSealer, signedCheckpoint } from '../../src/audit/integrity/log-sealer.js'
import { appendTransfers, signer } from '../audit/integrity/sealed-log.js'
import { openTestStore } from '../support/embedded-store.js'
import { temporaryDirectory } from '../support/processes.js'

/** Starts a server that responds to every request with bytes until the client closes the connection. */
async function startEndlessServer(t: Test) {
  let sent = 0
  const chunk = Buffer.alloc(16_384, 'a')
  const server = createServer((_, response) => {
    response.writeHead(200)
    const send = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length
    }
    response.on('drain', send)
    send()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent: () => sent }
}

t.test(
  'reads at most 64 KiB of the response of a copy or a witness, and a file of a copy only up to its limit',
  async (t) => {
    const store = await openTestStore(t)
    const tiles = new MemoryTiles()
    await appendTransfers(store, 0, 4)
    const sealer = await LogSealer.open({ store, tiles }, signer)
    await sealer.follow(async () => undefined, new AbortController().signal)
    await sealer.seal()
    const { note, size } = (await signedCheckpoint(tiles, signer))!
    const endless = await startEndlessServer(t)
    const directory = temporaryDirectory(t)
    writeFileSync(join(directory, 'checkpoint'), Buffer.alloc(20_000_000))
    const copies: readonly CopyTarget[] = [
      { kind: 'url', url: endless.url, authorization: undefined },
      { kind: 'directory', directory },
    ]
    const witness = { url: endless.url, key: parseSigner(generateSigner('witness.example', 'cosignature')) }
    for (const copyTo of copies) {
      const publisher = new CheckpointPublisher({
        ...{ store, tiles, signer, copyTo, witnesses: [witness], publishFailed: () => undefined },
        logger: pino({ level: 'silent' }),
      })
      t.same(await publisher.publish({ note, size }), { note, findings: [] })
      t.match(publisher.problems(), [
        /responded with more than 65536 bytes/,
        /more than 65536 bytes|is not a file of a tree/,
      ])
      t.equal(await publisher.copied(), undefined)
    }
    t.ok(endless.sent() < 20_000_000, 'the connection is closed')
  },
)

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import { ReadModelsUnavailableError } from '../../src/read-models/read-models.js'
import { mongodbUrl, testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'

t.test(
  'a write to a server that stops reading fails as unavailable, and the next one reconnects',
  { skip: withoutMongodb, timeout: 120_000 },
  async (t) => {
    const direct = testDatabaseUrl(`silent_${randomUUID().slice(0, 8)}`)
    const proxy = await silenceableProxy(new URL(direct.replace(/^mongodb/, 'http')))
    const pathname = new URL(direct.replace(/^mongodb/, 'http')).pathname
    const readModels = openMongodbReadModels({
      url: mongodbUrl(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`, pathname.slice(1)),
    })
    t.teardown(async () => {
      await readModels.drop('written')
      await readModels.close()
      proxy.close()
    })
    const collection = readModels.collection('written')
    const insert = (_id: string, text: string) => collection.bulkWrite([{ insertOne: { document: { _id, text } } }])

    await insert('before', 'small')
    proxy.silence()
    // This exceeds the buffers of both ends, so the driver waits for its socket to drain.
    await t.rejects(insert('meanwhile', 'x'.repeat(12 * 1024 * 1024)), ReadModelsUnavailableError)
    proxy.speak()
    await insert('after', 'small')
    t.strictSame(
      (await collection.find({}, { sort: { _id: 1 }, limit: 10 })).map(({ _id }) => _id),
      ['after', 'before'],
    )
  },
)

/** A proxy that can stop reading from the existing connections. */
async function silenceableProxy({ hostname, port }: URL) {
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port || 27_017), hostname)
    clients.add(client)
    client.pipe(upstream).pipe(client)
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
    if (silent) client.unpipe(upstream).pause()
  })
  let silent = false
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    silence() {
      silent = true
      for (const client of clients) client.unpipe().pause()
    },
    /** Accepts new connections. Silent ones remain silent. */
    speak() {
      silent = false
    },
    close() {
      for (const client of clients) client.destroy()
      server.close()
    },
  }
}

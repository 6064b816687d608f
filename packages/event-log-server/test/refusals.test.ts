import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import type { Message } from 'google-protobuf'
import t from 'tap'
import { gossip, streams } from '../src/wire/generated-protocol.js'
import { methods, paths } from './every-method.js'
import { makeCertificate } from './support/certificate.js'
import { serve } from './support/server-fixture.js'

const enoughMs = 60_000
const pass = (bytes: Buffer) => bytes

/** How a call with one message ends: its status, or that of the first answer. Calls that stay open are left then. */
function outcome(client: Client, path: string, request: Message, metadata = new Metadata()): Promise<number> {
  return new Promise((resolve) => {
    const call = client.makeBidiStreamRequest(path, pass, pass, metadata, { deadline: Date.now() + enoughMs })
    call.on('data', (bytes: Buffer) => {
      const isBatch = path.endsWith('/BatchAppend')
      resolve(isBatch ? (streams.BatchAppendResp.deserializeBinary(bytes).getError()?.getCode() ?? 0) : 0)
      call.cancel()
    })
    call.on('error', (error: ServiceError) => resolve(error.code))
    call.on('end', () => resolve(0))
    call.write(Buffer.from(request.serializeBinary()))
    call.end()
  })
}

function basic(login: string, password: string): Metadata {
  const metadata = new Metadata()
  metadata.set('authorization', `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`)
  return metadata
}

/** The only answer of a method, without the time that gossip tells. */
function answerOf(client: Client, path: string, request: Message): Promise<unknown> {
  const serialized = Buffer.from(request.serializeBinary())
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, pass, pass, serialized, (error, bytes) => {
      if (error || bytes === undefined) reject(error)
      else if (!path.includes('.gossip.')) resolve(bytes.toString('hex'))
      else {
        const cluster = gossip.ClusterInfo.deserializeBinary(bytes).toObject()
        resolve(cluster.membersList.map(({ timeStamp: _, ...member }) => member))
      }
    })
  })
}

t.test('there is a request for every method the server has, and for no other', async (t) => {
  t.strictSame(Object.keys(methods).sort(), [...paths].sort())
})

const certificate = makeCertificate(tempDirectory(t))
const withoutOpenssl = certificate ? false : 'there is no openssl to make a certificate with'
const transports = [
  { transport: 'plain text', options: {}, skip: false },
  { transport: 'TLS', options: certificate ? { certificate } : {}, skip: withoutOpenssl },
]

for (const { transport, options, skip } of transports) {
  t.test(
    `over ${transport}, nothing is done for those who bring no credentials, or wrong ones`,
    { skip },
    async (t) => {
      const { port, store, stop, faults } = await serve({ ...options, isClosed: true })
      const trusted = 'certificate' in options && certificate ? readFileSync(certificate.cert) : undefined
      const client = new Client(
        `localhost:${port}`,
        trusted ? credentials.createSsl(trusted) : credentials.createInsecure(),
      )
      const before = store.reader.lastPosition()
      // A password that is wrong too often is not even looked at.
      const refused = [status.UNAUTHENTICATED, status.RESOURCE_EXHAUSTED]
      for (const [path, { request, needs }] of Object.entries(methods)) {
        if (needs === 'nothing') {
          t.equal(await outcome(client, path, request), status.OK, `${path} is open`)
          continue
        }
        t.equal(await outcome(client, path, request), status.PERMISSION_DENIED, `${path} without credentials`)
        for (const metadata of [basic('admin', 'wrong'), basic('nobody', 'changeit'), basic('', '')]) {
          const code = await outcome(client, path, request, metadata)
          t.ok(refused.includes(code), `${path} with wrong ones: ${code}`)
        }
        const malformed = new Metadata()
        malformed.set('authorization', 'Bearer changeit')
        t.equal(await outcome(client, path, request, malformed), status.UNAUTHENTICATED, `${path} with others`)
      }
      t.equal(store.reader.lastPosition(), before, 'nothing was written')
      t.strictSame(faults, [])
      client.close()
      await stop()
    },
  )
}

t.test('of an append without credentials nothing is waited for, nor held', async (t) => {
  const { port, stop } = await serve({ isClosed: true })
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  for (const way of ['Append', 'BatchAppend']) {
    const path = `/event_store.client.streams.Streams/${way}`
    const code = await new Promise((resolve) => {
      const call = client.makeBidiStreamRequest(path, pass, pass, { deadline: Date.now() + enoughMs })
      call.on('data', () => {})
      call.on('error', (error: ServiceError) => resolve(error.code))
      // There would be more to come: of the batch not even its first append is complete.
      const first = methods[path]!.request.clone()
      if (first instanceof streams.BatchAppendReq) first.setIsFinal(false)
      call.write(Buffer.from(first.serializeBinary()))
    })
    t.equal(code, status.PERMISSION_DENIED, way)
  }
  client.close()
  await stop()
})

t.test('what is told without credentials says nothing of the log', async (t) => {
  const open = Object.entries(methods).filter(([, { needs }]) => needs === 'nothing')
  t.strictSame(
    open.map(([path]) => path.split('/').pop()),
    ['Read', 'GetSupportedMethods'],
    'of gossip and features: the official client asks these before it sends credentials',
  )
  const { port, store, stop } = await serve({ isClosed: true })
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const ask = async () => {
    const answers = []
    for (const [path, { request }] of open) answers.push(await answerOf(client, path, request))
    return answers
  }
  const before = await ask()
  const event = { id: randomUUID(), type: 'T', isJson: true, data: Buffer.from('{}'), metadata: new Uint8Array(0) }
  await store.append('a', 'any', [event])
  t.strictSame(await ask(), before)
  client.close()
  await stop()
})

t.test('a server that only reads refuses whatever would be written', async (t) => {
  const { port, store, stop, faults } = await serve({ isWritable: false })
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  for (const [path, { request, needs }] of Object.entries(methods)) {
    const code = await outcome(client, path, request)
    if (needs === 'write') t.equal(code, status.PERMISSION_DENIED, path)
    else t.not(code, status.PERMISSION_DENIED, path)
  }
  t.equal(store.reader.lastPosition(), 0, 'nothing was written')
  t.strictSame(faults, [])
  client.close()
  await stop()
})

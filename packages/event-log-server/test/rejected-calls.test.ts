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

/** Returns the status of a call with one message, or of its first response. It cancels calls that stay open. */
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

/** Returns the single response of a method, without the timestamp of gossip. */
function responseOf(client: Client, path: string, request: Message): Promise<unknown> {
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

t.test('the table has a request for every method of the server, and for no other', async (t) => {
  t.strictSame(Object.keys(methods).sort(), [...paths].sort())
})

const certificate = makeCertificate(tempDirectory(t))
const skipWithoutOpenssl = certificate ? false : 'creating a certificate requires openssl'
const transports = [
  { transport: 'plain text', options: {}, skip: false },
  { transport: 'TLS', options: certificate ? { certificate } : {}, skip: skipWithoutOpenssl },
]

for (const { transport, options, skip } of transports) {
  t.test(`over ${transport}, rejects every call without credentials or with wrong ones`, { skip }, async (t) => {
    const { port, store, stop, faults } = await serve({ ...options, isClosed: true })
    const trusted = 'certificate' in options && certificate ? readFileSync(certificate.cert) : undefined
    const client = new Client(
      `localhost:${port}`,
      trusted ? credentials.createSsl(trusted) : credentials.createInsecure(),
    )
    const before = store.reader.lastPosition()
    // After too many wrong passwords, the server does not check the password.
    const rejections = [status.UNAUTHENTICATED, status.RESOURCE_EXHAUSTED]
    for (const [path, { request, needs }] of Object.entries(methods)) {
      if (needs === 'nothing') {
        t.equal(await outcome(client, path, request), status.OK, `${path} is open`)
        continue
      }
      t.equal(await outcome(client, path, request), status.PERMISSION_DENIED, `${path} without credentials`)
      for (const metadata of [basic('admin', 'wrong'), basic('unknown', 'changeit'), basic('', '')]) {
        const code = await outcome(client, path, request, metadata)
        t.ok(rejections.includes(code), `${path} with wrong credentials: ${code}`)
      }
      const malformed = new Metadata()
      malformed.set('authorization', 'Bearer changeit')
      t.equal(
        await outcome(client, path, request, malformed),
        status.UNAUTHENTICATED,
        `${path} with malformed credentials`,
      )
    }
    t.equal(store.reader.lastPosition(), before, 'nothing was written')
    t.strictSame(faults, [])
    client.close()
    await stop()
  })
}

t.test('rejects an append without credentials before its request is complete', async (t) => {
  const { port, stop } = await serve({ isClosed: true })
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  for (const method of ['Append', 'BatchAppend']) {
    const path = `/event_store.client.streams.Streams/${method}`
    const code = await new Promise((resolve) => {
      const call = client.makeBidiStreamRequest(path, pass, pass, { deadline: Date.now() + enoughMs })
      call.on('data', () => {})
      call.on('error', (error: ServiceError) => resolve(error.code))
      // The request is incomplete: for the batch, not even the first append is complete.
      const first = methods[path]!.request.clone()
      if (first instanceof streams.BatchAppendReq) first.setIsFinal(false)
      call.write(Buffer.from(first.serializeBinary()))
    })
    t.equal(code, status.PERMISSION_DENIED, method)
  }
  client.close()
  await stop()
})

t.test('responses without credentials reveal nothing about the log', async (t) => {
  const open = Object.entries(methods).filter(([, { needs }]) => needs === 'nothing')
  t.strictSame(
    open.map(([path]) => path.split('/').pop()),
    ['Read', 'GetSupportedMethods'],
    'gossip and features, which the official client calls before it sends credentials',
  )
  const { port, store, stop } = await serve({ isClosed: true })
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const call = async () => {
    const responses = []
    for (const [path, { request }] of open) responses.push(await responseOf(client, path, request))
    return responses
  }
  const before = await call()
  const event = { id: randomUUID(), type: 'T', isJson: true, data: Buffer.from('{}'), metadata: new Uint8Array(0) }
  await store.append('a', 'any', [event])
  t.strictSame(await call(), before)
  client.close()
  await stop()
})

t.test('a read-only server rejects every write', async (t) => {
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

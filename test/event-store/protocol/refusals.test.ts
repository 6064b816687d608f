import { readFileSync } from 'node:fs'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import type { Message } from 'google-protobuf'
import t from 'tap'
import { streams } from '../../../src/event-store/protocol/generated.js'
import { makeCertificate } from '../../support/certificate.js'
import { tempDirectory } from '../../support/temp-directory.js'
import { methods, paths } from './every-method.js'
import { serve } from './server-fixture.js'

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

t.test('there is a request for every method the server has, and for no other', async (t) => {
  t.strictSame(Object.keys(methods).sort(), [...paths].sort())
})

const certificate = makeCertificate(tempDirectory(t))
const skip = certificate ? false : 'there is no openssl to make a certificate with'

t.test('with credentials set nothing is done for those who bring none, or wrong ones', { skip }, async (t) => {
  if (!certificate) return
  const { port, store, stop, faults } = await serve({ certificate })
  const client = new Client(`localhost:${port}`, credentials.createSsl(readFileSync(certificate.cert)))
  for (const [path, { request, needs }] of Object.entries(methods)) {
    if (needs === 'nothing') {
      t.equal(await outcome(client, path, request), status.OK, `${path} is open`)
      continue
    }
    t.equal(await outcome(client, path, request), status.PERMISSION_DENIED, `${path} without credentials`)
    for (const metadata of [basic('admin', 'wrong'), basic('nobody', 'changeit'), basic('', '')]) {
      t.equal(await outcome(client, path, request, metadata), status.UNAUTHENTICATED, `${path} with wrong ones`)
    }
    const malformed = new Metadata()
    malformed.set('authorization', 'Bearer changeit')
    t.equal(await outcome(client, path, request, malformed), status.UNAUTHENTICATED, `${path} with others`)
  }
  t.equal(store.reader.lastPosition(), 0, 'nothing was written')
  const right = await outcome(client, paths[0] ?? '', methods[paths[0] ?? '']!.request, basic('admin', 'changeit'))
  t.equal(right, status.OK)
  t.strictSame(faults, [])
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

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { jsonEvent } from '@eventstore/db-client'
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js'
import t from 'tap'
import { paths } from './every-method.js'
import { serve } from './support/server-fixture.js'

const pass = (bytes: Buffer) => bytes

/** Sends raw messages to a method and returns the status of the call. */
function call(client: Client, path: string, messages: readonly Buffer[], timeoutMs = 400): Promise<number> {
  return new Promise((resolve) => {
    const stream = client.makeBidiStreamRequest(path, pass, pass, { deadline: Date.now() + timeoutMs })
    stream.on('data', () => {})
    stream.on('error', (error: ServiceError) => resolve(error.code))
    stream.on('end', () => resolve(0))
    for (const message of messages) stream.write(message)
    stream.end()
  })
}

t.test('no malformed message ends the server', async (t) => {
  const { port, client, stop } = await serve()
  const raw = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  for (const path of paths) {
    await Promise.all([
      call(raw, path, []),
      call(raw, path, [Buffer.alloc(0)]),
      call(raw, path, [Buffer.alloc(0), Buffer.alloc(0)]),
      // Field 1 with a message of zero bytes, which means empty options.
      call(raw, path, [Buffer.from([0x0a, 0x00])]),
      call(raw, path, [Buffer.from([0x0a, 0x02, 0x0a, 0x00]), Buffer.from([0x12, 0x00])]),
      call(raw, path, [randomBytes(100)]),
      call(raw, path, [Buffer.alloc(3, 0xff)]),
    ])
  }
  raw.close()
  const { success } = await client.appendToStream('s', jsonEvent({ type: 'T', data: {} }))
  t.ok(success, 'the server still works')
  await stop()
})

t.test('rejects a message of more than 16 MiB and continues', async (t) => {
  const { port, client, stop, faults } = await serve()
  const raw = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.max_send_message_length': -1 })
  const tooLarge = Buffer.alloc(17 * 1024 * 1024)
  for (const path of paths.filter((path) => path.includes('.streams.'))) {
    t.equal(await call(raw, path, [tooLarge], 60_000), status.RESOURCE_EXHAUSTED, path)
  }
  raw.close()
  t.ok((await client.appendToStream('s', jsonEvent({ type: 'T', data: {} }))).success)
  t.strictSame(faults, [])
  await stop()
})

t.test('neither invalid nor incomplete HTTP/2 ends the server', async (t) => {
  const { port, client, stop, faults } = await serve()
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
  const headers = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, bytes.length, 1, 4, 0, 0, 0, 1]), bytes])
  const garbage = [
    Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    randomBytes(1_000),
    // The start of a TLS handshake.
    Buffer.from([0x16, 3, 1, 0xff, 0xff, 1]),
    preface,
    Buffer.concat([preface, settings]),
    Buffer.concat([preface, randomBytes(200)]),
    Buffer.concat([preface, settings, headers(randomBytes(40))]),
    // A frame that exceeds the maximum length, and one of an unknown type.
    Buffer.concat([preface, settings, Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])]),
    Buffer.concat([preface, settings, Buffer.from([0, 0, 1, 0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0])]),
    // A reset of a nonexistent stream, and a window update that overflows.
    Buffer.concat([preface, settings, Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, 9, 0, 0, 0, 1])]),
    Buffer.concat([preface, settings, Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff])]),
  ]
  for (const bytes of garbage) {
    for (const isReset of [false, true]) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      socket.write(bytes)
      await new Promise((resolve) => setTimeout(resolve, 20))
      if (isReset) socket.resetAndDestroy()
      else socket.destroy()
      await once(socket, 'close')
    }
  }
  t.ok((await client.appendToStream('s', jsonEvent({ type: 'T', data: {} }))).success)
  t.strictSame(faults, [])
  await stop()
})

t.test('clients that disconnect during a call cause no fault', async (t) => {
  const { client, stop, faults } = await serve()
  const events = Array.from({ length: 3_000 }, (_, n) => jsonEvent({ type: 'T', data: { n } }))
  await client.appendToStream('s', events)
  for (let i = 0; i < 20; i++) {
    for await (const _ of client.readStream('s')) break
    for await (const _ of client.subscribeToAll()) break
  }
  let count = 0
  for await (const _ of client.readStream('s')) count += 1
  t.equal(count, 3_000)
  t.strictSame(faults, [])
  await stop()
})

import { randomBytes } from 'node:crypto'
import { jsonEvent } from '@eventstore/db-client'
import { Client, credentials, type ServiceDefinition, type ServiceError } from '@grpc/grpc-js'
import t from 'tap'
import {
  featuresServices,
  gossipServices,
  monitoringServices,
  operationsServices,
  persistentServices,
  streamsServices,
  usersServices,
} from '../../../src/event-store/protocol/generated.js'
import { serve } from './server-fixture.js'

const services = [
  streamsServices.StreamsService,
  persistentServices.PersistentSubscriptionsService,
  usersServices.UsersService,
  operationsServices.OperationsService,
  gossipServices.GossipService,
  featuresServices.ServerFeaturesService,
  monitoringServices.MonitoringService,
] as unknown as ServiceDefinition[]

const methods = services.flatMap((service) => Object.values(service))
const pass = (bytes: Buffer) => bytes

/** Sends raw messages to a method and answers how the call ended. */
function call(client: Client, path: string, messages: readonly Buffer[]): Promise<number> {
  return new Promise((resolve) => {
    const stream = client.makeBidiStreamRequest(path, pass, pass, { deadline: Date.now() + 400 })
    stream.on('data', () => {})
    stream.on('error', (error: ServiceError) => resolve(error.code))
    stream.on('end', () => resolve(0))
    for (const message of messages) stream.write(message)
    stream.end()
  })
}

t.test('no message, however wrong, ends the server', async (t) => {
  const { port, client, stop } = await serve()
  const raw = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  for (const { path } of methods) {
    await Promise.all([
      call(raw, path, []),
      call(raw, path, [Buffer.alloc(0)]),
      call(raw, path, [Buffer.alloc(0), Buffer.alloc(0)]),
      // Field 1, a message of zero bytes: options that say nothing.
      call(raw, path, [Buffer.from([0x0a, 0x00])]),
      call(raw, path, [Buffer.from([0x0a, 0x02, 0x0a, 0x00]), Buffer.from([0x12, 0x00])]),
      call(raw, path, [randomBytes(100)]),
      call(raw, path, [Buffer.alloc(3, 0xff)]),
    ])
  }
  raw.close()
  const { success } = await client.appendToStream('s', jsonEvent({ type: 'T', data: {} }))
  t.ok(success, 'it still serves')
  await stop()
})

t.test('clients that break off in the middle leave nothing behind', async (t) => {
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

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { BSON } from 'mongodb'

const opReply = 1
const opMessage = 2013

/** Starts a server that responds to the handshake like this version of MongoDB, and returns its port. */
export async function startOldMongodb(
  t: { teardown(work: () => unknown): unknown },
  version: string,
  maxWireVersion: number,
): Promise<number> {
  const answer = BSON.serialize({
    ok: 1,
    helloOk: true,
    isWritablePrimary: true,
    ismaster: true,
    minWireVersion: 0,
    maxWireVersion,
    maxBsonObjectSize: 16_777_216,
    maxMessageSizeBytes: 48_000_000,
    maxWriteBatchSize: 100_000,
    version,
  })
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 16 && received.length >= received.readInt32LE(0)) {
        const length = received.readInt32LE(0)
        socket.write(reply(received.readInt32LE(4), received.readInt32LE(12) === opMessage, answer))
        received = received.subarray(length)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Encodes the response in the form of the request: OP_MSG, or OP_REPLY for the first one of a connection. */
function reply(requestId: number, isMessage: boolean, document: Uint8Array): Buffer {
  const before = Buffer.alloc(isMessage ? 5 : 20)
  if (!isMessage) before.writeInt32LE(1, 16)
  const header = Buffer.alloc(16)
  header.writeInt32LE(header.length + before.length + document.length, 0)
  header.writeInt32LE(requestId, 8)
  header.writeInt32LE(isMessage ? opMessage : opReply, 12)
  return Buffer.concat([header, before, document])
}

import { lookup } from 'node:dns/promises'
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import type { Server, ServerCredentials } from '@grpc/grpc-js'

/**
 * Accepts connections for the gRPC server, which knows of one only when it is set up: a connection in the middle of its
 * TLS handshake outlived the server's end, and with it the process. Here closing ends every one, however far it has come.
 */
export class Listener {
  readonly port: number
  readonly #listening: readonly NetServer[]
  readonly #sockets: Set<Socket>

  private constructor(port: number, listening: readonly NetServer[], sockets: Set<Socket>) {
    this.port = port
    this.#listening = listening
    this.#sockets = sockets
  }

  /** On every address that the host has, but for those that cannot be bound. @throws when none can */
  static async listen(server: Server, credentials: ServerCredentials, at: { host: string; port: number }) {
    const injector = server.createConnectionInjector(credentials)
    const sockets = new Set<Socket>()
    const listening: NetServer[] = []
    let { port } = at
    let trouble: unknown
    for (const { address } of await lookup(at.host, { all: true })) {
      const acceptor = createServer((socket) => {
        sockets.add(socket)
        socket.on('close', () => sockets.delete(socket))
        socket.on('error', () => {}) // without a listener it would end the process
        injector.injectConnection(socket)
      })
      try {
        port = await bind(acceptor, address, port)
        listening.push(acceptor)
      } catch (error) {
        trouble = error
      }
    }
    if (listening.length === 0) throw trouble
    return new Listener(port, listening, sockets)
  }

  /** Accepts no more connections. */
  refuse(): void {
    for (const acceptor of this.#listening) acceptor.close()
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

function bind(acceptor: NetServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    acceptor.once('error', reject)
    acceptor.listen({ host, port }, () => resolve((acceptor.address() as AddressInfo).port))
  })
}

import { lookup } from 'node:dns/promises'
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import type { Server, ServerCredentials } from '@grpc/grpc-js'

/**
 * Accepts connections for the gRPC server. The gRPC server only tracks established connections, so a connection in its TLS handshake
 * would outlive the server and keep the process alive. This listener closes every connection, regardless of its state.
 */
export class ProtocolListener {
  private constructor(
    readonly port: number,
    private readonly acceptors: readonly NetServer[],
    private readonly sockets: Set<Socket>,
  ) {}

  /** Listens on every address of the host except those that cannot be bound. @throws if none can be bound */
  static async listen(server: Server, credentials: ServerCredentials, endpoint: { host: string; port: number }) {
    const injector = server.createConnectionInjector(credentials)
    const sockets = new Set<Socket>()
    const acceptors: NetServer[] = []
    let { port } = endpoint
    let failure: unknown
    for (const { address } of await lookup(endpoint.host, { all: true })) {
      const acceptor = createServer((socket) => {
        sockets.add(socket)
        socket.on('close', () => sockets.delete(socket))
        socket.on('error', () => {}) // without a listener, an error would end the process
        injector.injectConnection(socket)
      })
      try {
        port = await bind(acceptor, address, port)
        acceptors.push(acceptor)
      } catch (error) {
        failure = error
      }
    }
    if (acceptors.length === 0) throw failure
    return new ProtocolListener(port, acceptors, sockets)
  }

  /** Stops accepting connections. */
  stopAccepting(): void {
    for (const acceptor of this.acceptors) acceptor.close()
  }

  closeConnections(): void {
    for (const socket of this.sockets) socket.destroy()
  }
}

function bind(acceptor: NetServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    acceptor.once('error', reject)
    acceptor.listen({ host, port }, () => resolve((acceptor.address() as AddressInfo).port))
  })
}

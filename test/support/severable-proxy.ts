import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

interface SeverableProxy {
  readonly port: number
  /** Ends all connections and rejects new ones until {@link restore}. */
  sever(): Promise<void>
  restore(): Promise<void>
}

/** A proxy between loopback and `host:port` whose connections can be severed. It starts severed. */
export async function severableProxy(target: {
  readonly host: string
  readonly port: number
}): Promise<SeverableProxy> {
  const sockets = new Set<Socket>()
  const join = (one: Socket, other: Socket): void => {
    sockets.add(one)
    one.pipe(other)
    one.on('error', () => other.destroy())
    one.on('close', () => {
      sockets.delete(one)
      other.destroy()
    })
  }
  const server = createServer((near) => {
    const far = connect(target.port, target.host)
    join(near, far)
    join(far, near)
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const sever = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  await sever()
  return { port, sever, restore: () => listen(port) }
}

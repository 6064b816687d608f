import { connect, type Socket } from 'node:net'

/**
 * An HTTP/1.1 load on keep-alive connections. Each connection sends its next request when the previous response is complete, or at an
 * even rate. The generator is minimal and uses sockets, because it shares the machine's cores with the measured service.
 */
export interface LoadOptions {
  /** One port, or several among which the connections are divided evenly. */
  readonly port: number | readonly number[]
  readonly connections: number
  readonly durationMs: number
  /** The number of requests after which the load ends early. */
  readonly requests?: number
  /**
   * The maximum number of requests per second, evenly distributed. The latency of a request that was delayed by an earlier response
   * counts from the time at which it was due, so that a service does not benefit from stalling. Defaults to no limit.
   */
  readonly perSecond?: number
  /** Returns the next request of a connection. Called once per request. */
  readonly nextRequest: (connection: number) => Buffer
}

export interface LoadResult {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** The number of responses by status code. */
  readonly statuses: { readonly [status: string]: number }
}

const headEnd = Buffer.from('\r\n\r\n')

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const latenciesMs: number[] = []
  const statuses: Record<string, number> = {}
  const startedAt = performance.now()
  const endsAt = startedAt + options.durationMs
  let left = options.requests ?? Number.POSITIVE_INFINITY
  const intervalMs = options.perSecond === undefined ? 0 : 1_000 / options.perSecond
  const ports = [options.port].flat()
  const run = (connection: number) =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port: ports[connection % ports.length]!, host: '127.0.0.1', noDelay: true })
      let sentAt = 0
      let dueAt = 0
      const send = (measuredFrom: number) => {
        sentAt = measuredFrom
        left--
        dueAt += intervalMs * options.connections
        socket.write(options.nextRequest(connection))
      }
      const sendNext = () => {
        const now = performance.now()
        if (options.perSecond === undefined) send(now)
        else if (dueAt <= now) send(dueAt)
        else setTimeout(() => send(performance.now()), dueAt - now)
      }
      onResponses(socket, (status) => {
        const now = performance.now()
        latenciesMs.push(now - sentAt)
        statuses[status] = (statuses[status] ?? 0) + 1
        if (now < endsAt && left > 0) return sendNext()
        socket.destroy()
        resolve()
      })
      socket.on('error', reject)
      socket.on('connect', () => {
        dueAt = performance.now() + connection * intervalMs
        sendNext()
      })
    })
  await Promise.all(Array.from({ length: options.connections }, (_, connection) => run(connection)))
  const seconds = (performance.now() - startedAt) / 1000
  latenciesMs.sort((a, b) => a - b)
  const quantile = (q: number) => latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * q))] ?? 0
  return {
    requests: latenciesMs.length,
    requestsPerSecond: latenciesMs.length / seconds,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    maxMs: quantile(1),
    statuses,
  }
}

/** Calls back for each complete response. All measured servers send `content-length`. */
function onResponses(socket: Socket, onResponse: (status: string) => void): void {
  let pending: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const end = pending.indexOf(headEnd)
    if (end < 0) return
    const head = pending.toString('latin1', 0, end)
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    if (length === undefined) throw new Error(`a response without content-length:\n${head}`)
    if (pending.length < end + 4 + Number(length)) return
    pending = pending.subarray(end + 4 + Number(length))
    onResponse(head.slice(9, 12))
  })
}

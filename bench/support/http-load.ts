import { connect, type Socket } from 'node:net'

/**
 * An HTTP/1.1 load on keep-alive connections: each sends its next request when the answer to the last one is complete, or at an even
 * pace. Small on purpose, and written over sockets, as it shares the machine's cores with what it measures.
 */
export interface LoadOptions {
  readonly port: number
  readonly connections: number
  readonly durationMs: number
  /** Ends when so many have been sent, if that is sooner. */
  readonly requests?: number
  /**
   * At most so many, evenly spread. What could not be sent in time, as its connection waited for an answer, counts from when it was due: a
   * service that stands still for a second is not asked less in that second. As many as can be when absent.
   */
  readonly perSecond?: number
  /** Fills in the next request; called once for each request, with the same number for the same connection. */
  readonly nextRequest: (connection: number) => Buffer
}

export interface LoadResult {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Answers by status code. */
  readonly statuses: { readonly [status: string]: number }
}

const headEnd = Buffer.from('\r\n\r\n')

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const latenciesMs: number[] = []
  const statuses: Record<string, number> = {}
  const startedAt = performance.now()
  const endsAt = startedAt + options.durationMs
  let left = options.requests ?? Number.POSITIVE_INFINITY
  const apartMs = options.perSecond === undefined ? 0 : 1_000 / options.perSecond
  const one = (connection: number) =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port: options.port, host: '127.0.0.1', noDelay: true })
      let sentAt = 0
      let dueAt = 0
      const send = (countsFrom: number) => {
        sentAt = countsFrom
        left--
        dueAt += apartMs * options.connections
        socket.write(options.nextRequest(connection))
      }
      const sendNext = () => {
        const now = performance.now()
        if (options.perSecond === undefined) send(now)
        else if (dueAt <= now) send(dueAt)
        else setTimeout(() => send(performance.now()), dueAt - now)
      }
      onAnswers(socket, (status) => {
        const now = performance.now()
        latenciesMs.push(now - sentAt)
        statuses[status] = (statuses[status] ?? 0) + 1
        if (now < endsAt && left > 0) return sendNext()
        socket.destroy()
        resolve()
      })
      socket.on('error', reject)
      socket.on('connect', () => {
        dueAt = performance.now() + connection * apartMs
        sendNext()
      })
    })
  await Promise.all(Array.from({ length: options.connections }, (_, connection) => one(connection)))
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

/** Calls back for each complete answer; both servers send `content-length`. */
function onAnswers(socket: Socket, answered: (status: string) => void): void {
  let pending: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const end = pending.indexOf(headEnd)
    if (end < 0) return
    const head = pending.toString('latin1', 0, end)
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    if (length === undefined) throw new Error(`an answer without content-length:\n${head}`)
    if (pending.length < end + 4 + Number(length)) return
    pending = pending.subarray(end + 4 + Number(length))
    answered(head.slice(9, 12))
  })
}

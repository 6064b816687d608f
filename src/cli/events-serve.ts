import type { Command } from 'commander'
import { UsageError } from './command.js'
import { endpoint, integer } from './options.js'
import { askedToStop } from './stop-signal.js'

interface Options {
  readonly json?: true
  readonly host: string
  readonly port: number
  readonly data?: string
  readonly inMemory?: true
  readonly writable?: true
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly advertise?: { readonly host: string; readonly port: number }
}

export function addEventsServeCommand(events: Command): void {
  events
    .command('serve')
    .description("serve the log over EventStoreDB's gRPC protocol, until SIGTERM or SIGINT")
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', '0: any free one', integer(0, 65_535), 2113)
    .option('--data <directory>', 'the log to serve, beside a running service or without one')
    .option('--in-memory', 'an empty log instead, gone when it ends')
    .option('--writable', 'let clients write; without it they read')
    .option('--tls-cert <file>', 'certificate chain in PEM; without TLS nobody is asked who they are')
    .option('--tls-key <file>', 'its private key')
    .option('--advertise <host:port>', 'where clients that discover a cluster are sent', endpoint)
    .option('--json', 'print the URL as one JSON document')
    .action(serve)
}

async function serve(options: Options): Promise<void> {
  const { host, port, data, tlsCert, tlsKey, advertise } = options
  if ((data === undefined) === (options.inMemory === undefined)) {
    throw new UsageError('name the log with --data, or take an empty one with --in-memory')
  }
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new UsageError('--tls-cert and --tls-key go together')
  const tls = tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey }
  const stopAsked = askedToStop()
  const { startEventsServer } = await import('../runtime/events-server.js')
  const server = await startEventsServer({
    host,
    port,
    directory: data,
    isWritable: options.writable === true,
    tls,
    advertise,
    accounts: tls === undefined ? [] : accounts(data === undefined),
    onFault: (error) => console.error('transferd: a call failed for a reason of ours:', error),
  })
  process.stdout.write(options.json ? `${JSON.stringify({ url: server.url })}\n` : `${server.url}\n`)
  await stopAsked
  await server.stop()
}

/** The administrator of EVENTS_USER and EVENTS_PASSWORD. A log that is gone in the end may have the well-known ones. */
function accounts(isInMemory: boolean) {
  const { EVENTS_USER: login, EVENTS_PASSWORD: password } = process.env
  if (login && password) return [{ login, password, groups: ['$admins'] }]
  if (login || password || !isInMemory) throw new UsageError('with TLS, EVENTS_USER and EVENTS_PASSWORD must be set')
  return [
    { login: 'admin', password: 'changeit', groups: ['$admins'] },
    { login: 'ops', password: 'changeit', groups: ['$ops'] },
  ]
}

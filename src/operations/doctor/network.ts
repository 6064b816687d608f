import { get } from 'node:http'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { createHostResolver } from '../../callbacks/deliver/endpoint-connection.js'
import type { CallbackNetworks, ResolveHost } from '../../commands/merchant/callback-networks.js'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { Check } from '../../kernel/check.js'
import { counted } from '../../kernel/text.js'
import { dayMs } from '../../kernel/time.js'
import type { Configuration } from '../configuration/configuration.js'
import { checking, durationText } from './machine.js'

const timeoutMs = 3_000
/** Automatic renewal happens earlier than this. */
const soonMs = 14 * dayMs
const maxEndpoints = 100
const parallel = 10
const maxResponse = 65_536

/** Checks whether the service, or another program, responds at the configured address. */
export async function portCheck({ host, port }: Pick<Configuration, 'host' | 'port'>): Promise<Check> {
  const listening = checking('port', `${host}:${port}`)
  if (port === 0) return listening.unknown('The service chooses a free port (PORT=0).')
  const hostname = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  try {
    const { problems } = (await responseOf({ host: hostname, port, path: '/health/ready' })) as { problems?: unknown }
    if (!Array.isArray(problems))
      return listening.failed('Another program responds there.', 'Set PORT to a different port.')
    if (problems.length === 0) return listening.ok('The service responds and is ready.')
    return listening.failed(`The service is not ready: ${problems.join('; ')}.`, 'docs/operating/runbooks.md')
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ECONNREFUSED')
      return listening.warning('Nothing listens there: the service does not run here.', 'Start it: transferd serve.')
    if (error instanceof SyntaxError || /^(ECONNRESET|HPE_)/.test(code))
      return listening.failed('Another program responds there.', 'Set PORT to a different port.')
    return listening.failed(
      `The program that listens there does not respond: ${code}.`,
      'docs/operating/runbooks.md#a-node-is-lost',
    )
  }
}

/** Returns the JSON of a response. @throws SyntaxError if it is not JSON, or the connection's error */
async function responseOf(to: { host: string; port: number; path: string }): Promise<object> {
  const text = await new Promise<string>((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    get({ ...to, agent: false, signal }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body = (body + chunk).slice(0, maxResponse)
      })
      response.once('end', () => resolve(body)).once('error', reject)
    }).once('error', reject)
  })
  return Object(JSON.parse(text))
}

/** Checks the certificate of PUBLIC_URL, which merchants and customers see. */
export async function publicCertificateCheck(publicUrl: string | undefined, nowMs: number): Promise<Check> {
  const certificate = checking('certificate', publicUrl ?? null)
  if (!publicUrl?.startsWith('https:')) return certificate.unknown('PUBLIC_URL is not an https URL.')
  const { hostname, port } = new URL(publicUrl)
  const advice = 'Renew the certificate, or repair its automatic renewal.'
  const seen = await certificateOf({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 443) })
  if (typeof seen === 'string') return certificate.failed(`The server has no valid certificate: ${seen}.`, advice)
  const left = seen - nowMs
  const found = `It expires in ${durationText(left)}.`
  return left < soonMs ? certificate.warning(found, advice) : certificate.ok(found)
}

/** Checks the certificates of live merchants' endpoints, because callbacks fail when one expires. */
export async function endpointCertificateCheck(
  directory: MerchantDirectory,
  networks: CallbackNetworks,
  nowMs: number,
): Promise<Check> {
  const certificates = checking('endpoint-certificates')
  const live = directory.all().filter(({ settings }) => !settings.sandbox && settings.callbackUrl.startsWith('https:'))
  const checked = live.slice(0, maxEndpoints)
  const resolve = createHostResolver()
  const problems: string[] = []
  for (let from = 0; from < checked.length; from += parallel) {
    const some = checked.slice(from, from + parallel)
    const seen = await Promise.all(
      some.map(({ settings }) => endpointCertificate(settings.callbackUrl, networks, resolve)),
    )
    for (const [index, until] of seen.entries()) {
      const { merchantId } = some[index]!
      if (typeof until === 'string') problems.push(`${merchantId}: ${until}`)
      else if (until - nowMs < soonMs) problems.push(`${merchantId}: expires in ${durationText(until - nowMs)}`)
    }
  }
  if (problems.length === 0)
    return certificates.ok(`The certificates of ${counted(checked.length, 'endpoint')} are valid.`)
  const more = problems.length > 5 ? ' …' : ''
  return certificates.warning(`${problems.slice(0, 5).join('; ')}${more}.`, 'Notify these merchants.')
}

/** Connects only to addresses that may receive callbacks. */
async function endpointCertificate(callbackUrl: string, networks: CallbackNetworks, resolve: ResolveHost) {
  try {
    const [host] = await networks.checkedAddresses(callbackUrl, false, resolve)
    const { hostname, port } = new URL(callbackUrl)
    return await certificateOf({ host: host!, port: Number(port || 443), servername: hostname })
  } catch (error) {
    return codeOf(error)
  }
}

/** Returns the end of the certificate's validity in milliseconds since the epoch, or a code for the reason why it is invalid. */
function certificateOf(to: { host: string; port: number; servername?: string }): Promise<number | string> {
  return new Promise((resolve) => {
    const name = to.servername ?? to.host
    const socket = connect({ ...to, ...(isIP(name) === 0 && { servername: name }), timeout: timeoutMs })
    const end = (response: number | string) => {
      socket.destroy()
      resolve(response)
    }
    socket.once('secureConnect', () => end(Date.parse(socket.getPeerCertificate().valid_to)))
    socket.once('timeout', () => end('timeout'))
    socket.once('error', (error) => end(codeOf(error)))
  })
}

function codeOf(error: unknown): string {
  const { code, cause, name } = error as { readonly code?: unknown; readonly cause?: unknown; readonly name?: unknown }
  if (typeof code === 'string') return code
  return cause === undefined ? String(name) : codeOf(cause)
}

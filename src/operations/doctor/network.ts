import { get } from 'node:http'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { checkedAddresses } from '../../callbacks/deliver/address-guard.js'
import { createHostResolver } from '../../callbacks/deliver/host-resolver.js'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import { dayMs } from '../../kernel/time.js'
import type { Configuration } from '../configuration/configuration.js'
import { type Check, counted, Examined, inWords } from './check.js'

const timeoutMs = 3_000
/** Whoever renews by itself has done it by then. */
const soonMs = 14 * dayMs
const maxEndpoints = 100
const parallel = 10
const maxAnswer = 65_536

/** Whether the service answers where the configuration says, or something else does. */
export async function portCheck({ host, port }: Pick<Configuration, 'host' | 'port'>): Promise<Check> {
  const listening = new Examined('port', `${host}:${port}`)
  if (port === 0) return listening.unknown('The service takes any free one (PORT=0).')
  const hostname = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  try {
    const { problems } = (await answerOf({ host: hostname, port, path: '/health/ready' })) as { problems?: unknown }
    if (!Array.isArray(problems)) return listening.failed('Another program answers there.', 'Set PORT to another one.')
    if (problems.length === 0) return listening.ok('The service answers, and is ready.')
    return listening.failed(`The service is not ready: ${problems.join('; ')}.`, 'docs/operating/runbooks.md')
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ECONNREFUSED')
      return listening.warning('Nothing listens there: the service does not run here.', 'transferd serve')
    if (error instanceof SyntaxError || /^(ECONNRESET|HPE_)/.test(code))
      return listening.failed('Another program answers there.', 'Set PORT to another one.')
    return listening.failed(`What listens there gives no answer: ${code}.`, 'docs/operating/runbooks.md#a-node-is-lost')
  }
}

/** JSON that is answered. @throws SyntaxError when it is none, or an error of the connection */
async function answerOf(to: { readonly host: string; readonly port: number; readonly path: string }): Promise<object> {
  const text = await new Promise<string>((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    get({ ...to, agent: false, signal }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body = (body + chunk).slice(0, maxAnswer)
      })
      response.once('end', () => resolve(body)).once('error', reject)
    }).once('error', reject)
  })
  return Object(JSON.parse(text))
}

/** That of PUBLIC_URL, which merchants and customers see. */
export async function publicCertificateCheck(publicUrl: string | undefined, nowMs: number): Promise<Check> {
  const certificate = new Examined('certificate', publicUrl ?? null)
  if (!publicUrl?.startsWith('https:')) return certificate.unknown('PUBLIC_URL is not https: there is none.')
  const { hostname, port } = new URL(publicUrl)
  const advice = 'Renew it, or repair what renews it.'
  const seen = await certificateOf({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 443) })
  if (typeof seen === 'string') return certificate.failed(`No valid one is shown: ${seen}.`, advice)
  const left = seen - nowMs
  const found = `Valid for ${inWords(left)} more.`
  return left < soonMs ? certificate.warning(found, advice) : certificate.ok(found)
}

/** Those of the live merchants' endpoints: callbacks fail the moment one is no longer valid. */
export async function endpointCertificateCheck(directory: MerchantDirectory, nowMs: number): Promise<Check> {
  const certificates = new Examined('endpoint-certificates')
  const live = directory.all().filter(({ settings }) => !settings.sandbox && settings.callbackUrl.startsWith('https:'))
  const asked = live.slice(0, maxEndpoints)
  const resolve = createHostResolver()
  const wrong: string[] = []
  for (let from = 0; from < asked.length; from += parallel) {
    const some = asked.slice(from, from + parallel)
    const seen = await Promise.all(some.map(({ settings }) => endpointCertificate(settings.callbackUrl, resolve)))
    for (const [index, until] of seen.entries()) {
      const { merchantId } = some[index]!
      if (typeof until === 'string') wrong.push(`${merchantId}: ${until}`)
      else if (until - nowMs < soonMs) wrong.push(`${merchantId}: valid for ${inWords(until - nowMs)} more`)
    }
  }
  if (wrong.length === 0) return certificates.ok(`Nothing wrong with ${counted(asked.length, 'endpoint')}.`)
  return certificates.warning(
    `${wrong.slice(0, 5).join('; ')}${wrong.length > 5 ? ' …' : ''}.`,
    'Tell these merchants.',
  )
}

/** Nothing but what callbacks may be sent to is connected to. */
async function endpointCertificate(callbackUrl: string, resolve: ReturnType<typeof createHostResolver>) {
  try {
    const [host] = await checkedAddresses(callbackUrl, false, resolve)
    const { hostname, port } = new URL(callbackUrl)
    return await certificateOf({ host: host!, port: Number(port || 443), servername: hostname })
  } catch (error) {
    return codeOf(error)
  }
}

/** Until when the certificate is valid, milliseconds since the epoch; or why there is no valid one, as a code. */
function certificateOf(to: { host: string; port: number; servername?: string }): Promise<number | string> {
  return new Promise((resolve) => {
    const name = to.servername ?? to.host
    const socket = connect({ ...to, ...(isIP(name) === 0 && { servername: name }), timeout: timeoutMs })
    const end = (answer: number | string) => {
      socket.destroy()
      resolve(answer)
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

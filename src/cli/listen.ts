import { randomUUID } from 'node:crypto'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { apiKeyId } from '../domain/merchant/api-key.js'
import type { Status } from '../domain/transfer/status.js'
import { escapeHidden } from '../kernel/text.js'
import { addMs, hourMs } from '../kernel/time.js'
import { createForwarder, type Forwarded, listenToCallbacks, type StreamedCallback } from './callback-listener.js'
import { accepted, completeShortIds, findMerchant } from './command.js'
import { Refused, UsageError } from './failures.js'
import { printingSignal } from './long-running.js'
import { type Access, accessOf, baseUrlOf, MerchantApi, reasonOf } from './merchant-api.js'
import { withSecurityLog } from './operator-log.js'
import { kebabCase } from './options.js'
import { type Format, type Output, outputOf } from './output.js'
import { exactTime, jsonLine, shortId } from './readable.js'

interface ListenOptions {
  readonly forwardTo: string | undefined
  readonly only: readonly string[] | undefined
  readonly printJson: true | undefined
  readonly merchant: string | undefined
  readonly url: string | undefined
  readonly apiKey: string | undefined
  readonly webhookSecret: string | undefined
  readonly output?: Format
}

/** `not checked`: the command does not know the webhook secret. */
type Signature = 'valid' | 'invalid' | 'not checked'

/** Prints and forwards the callbacks of a merchant until a signal. */
export async function listen(parts: Output & { readonly command: Command }, options: ListenOptions): Promise<void> {
  const { write, announce, command } = parts
  const { forwardTo, only, merchant } = options
  const isJson = options.printJson || options.output === 'json'
  if (merchant !== undefined && options.apiKey !== undefined)
    throw new UsageError('--merchant issues a key, so it cannot be combined with --api-key')
  const forward = forwardTo === undefined ? undefined : createForwarder(forwardTo)
  const { access, close } =
    merchant === undefined
      ? { access: await accessOf(options), close: async () => undefined }
      : await temporaryAccess(command, options)
  try {
    const signatureOf = await createVerifier(access.webhookSecret)
    const show = async (callback: StreamedCallback) => {
      const response = await forward?.(callback)
      const signature = signatureOf(callback)
      const printed = { callback, signature, forwardTo, response }
      write(isJson ? jsonLine({ ...callback, signature, response: response ?? null }) : textOf(printed))
    }
    await listenToCallbacks({
      api: new MerchantApi(access),
      signal: printingSignal(),
      onReady: ({ name, merchantId }) => {
        const target = forwardTo === undefined ? '' : ` and forwarding them to ${forwardTo}`
        announce(`listening to the callbacks of ${name} (${shortId(merchantId)})${target}`)
      },
      onCallback: (callback) => {
        if (only && !only.includes(kebabCase(callback.statusDescription))) return
        show(callback).catch((error) => announce(`callback ${callback.webhookId}: ${reasonOf(error)}`))
      },
      onInterrupted: (reason) => announce(`the connection is interrupted and will be opened again: ${reason}`),
      onSkipped: () => announce('the interruption took too long: callbacks were skipped'),
    })
  } finally {
    await close()
  }
}

interface Printed {
  readonly callback: StreamedCallback
  readonly signature: Signature
  readonly forwardTo: string | undefined
  readonly response: Forwarded | undefined
}

const colours: { readonly [status in Status]: 'green' | 'yellow' | 'red' | 'blue' } = {
  Pending: 'blue',
  Completed: 'green',
  ManualControl: 'yellow',
  Cancelled: 'red',
  Failed: 'red',
}

/** Returns a line about the transfer, the body of the request, and a line about the response. */
function textOf({ callback, signature, forwardTo, response }: Printed): string {
  const { statusDescription, referenceId, trackingId, webhookId, resent, request, recordedAt } = callback
  const status = styleText(colours[statusDescription as Status] ?? 'blue', statusDescription)
  const facts = [`transfer ${shortId(trackingId)}`, `callback ${shortId(webhookId)}`, ...(resent ? ['resent'] : [])]
  const checked = `signature ${signature === 'invalid' ? styleText('red', signature) : signature}`
  const lines = [
    `${exactTime(recordedAt, 'milliseconds')}  ${status}  ${referenceId}  (${facts.join(', ')})`,
    `  ${request.body}`,
    `  ${[...(response ? [responseText(response, forwardTo!)] : []), checked].join('; ')}`,
    ...(response?.status && response.status > 299 && response.body ? [`  ${response.body.replaceAll('\n', ' ')}`] : []),
  ]
  return `${lines.map((line, n) => (n === 0 ? line : escapeHidden(line))).join('\n')}\n`
}

function responseText({ status, durationMs, failure }: Forwarded, target: string): string {
  const took = `after ${durationMs} ms`
  return status === null ? `${target}: ${failure} ${took}` : `${target}: HTTP ${status} ${took}`
}

/** Returns a function that verifies the signature of a callback as its receiver does. */
async function createVerifier(secret: string | undefined): Promise<(callback: StreamedCallback) => Signature> {
  if (secret === undefined) return () => 'not checked'
  const { webhookSignature } = await import('../callbacks/deliver/callback-signing.js')
  return ({ request: { headers, body } }) => {
    const [id, timestamp] = [headers['webhook-id'] ?? '', Number(headers['webhook-timestamp'])]
    const expected = webhookSignature([secret], id, timestamp, body)
    return headers['webhook-signature']?.split(' ').includes(expected) ? 'valid' : 'invalid'
  }
}

/** If the command is killed, the key expires after this time. */
const keyHours = 12

/** Issues a key of a sandbox merchant in the log of this directory, and revokes it at `close`. @throws Refused */
async function temporaryAccess(command: Command, { url }: Pick<ListenOptions, 'url'>) {
  const { openCommandStores } = await import('./cli-stores.js')
  const stores = await openCommandStores(process.env, 'must exist', outputOf(command))
  const { merchants, context, clock, configuration } = stores
  try {
    await completeShortIds(command, stores)
    const { merchantId, settings } = await findMerchant(stores, command.opts<{ merchant: string }>().merchant)
    if (!settings.sandbox)
      throw new Refused('live-merchant', 'Only the callbacks of sandbox merchants can be listened to.')
    const { localUrl } = await import('../main/listening.js')
    const { publicUrl, host, port } = configuration
    // TRANSFERD_URL may name the service of a different log.
    const here = baseUrlOf(url ?? publicUrl ?? localUrl(host, port))
    const directory = await stores.merchantDirectory()
    const [webhookSecret] = directory.secrets(directory.byId(merchantId)!, 'webhookSecret')
    const validUntil = addMs(clock(), keyHours * hourMs)
    const key = { name: `listen-${randomUUID().slice(0, 8)}`, scopes: ['read'], validUntil } as const
    const { webApiKey: apiKey, sha256 } = await withSecurityLog(stores, command, async () =>
      accepted(await merchants.createApiKey(merchantId, key, context)),
    )
    const access: Access = { url: here, apiKey, secretKey: undefined, webhookSecret }
    const close = async () => {
      const keyId = apiKeyId({ sha256 })
      accepted(await merchants.execute(merchantId, { type: 'RevokeApiKey', keyId }, context))
      await stores.close()
    }
    return { access, close }
  } catch (error) {
    await stores.close()
    throw error
  }
}

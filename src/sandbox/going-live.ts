import type { Merchant } from '../domain/merchant/merchant.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import { retryWhileUnavailable } from '../subscriptions/retry.js'
import { missingGateways } from '../wallet/messages/message-route.js'
import { closeSandbox, isSandbox, type SandboxParts } from './sandbox.js'

/** What customers of live merchants cannot be sent as things are configured. A wallet core sends by itself. */
export function messageWarnings({ wallet, messages }: Pick<Configuration, 'wallet' | 'messages'>): readonly string[] {
  return wallet.engine === 'http' ? [] : missingGateways(messages)
}

/**
 * Closes the sandbox once there is a live merchant: at the start, or as soon as one becomes known that a command beside the service or
 * another node registered. Resolves when it is closed, where it is over already.
 */
export async function closeSandboxWhenLive(
  configuration: Pick<Configuration, 'sandbox' | 'wallet' | 'messages'>,
  parts: SandboxParts,
): Promise<{ stop(): Promise<void> }> {
  const { directory, logger } = parts
  const stopping = new AbortController()
  const examined = new Set<string>()
  let closing: Promise<void> | undefined
  const look = () => {
    if (configuration.sandbox !== 'off' && isSandbox(directory)) return
    // A merchant becomes known late when its events could not be read until now, for one.
    const open = directory.all().filter(({ merchantId, settings, suspended }) => {
      return settings.sandbox && !suspended && !examined.has(merchantId)
    })
    if (closing && open.length === 0) return
    for (const { merchantId } of open) examined.add(merchantId)
    if (!closing && !isSandbox(directory)) for (const warning of messageWarnings(configuration)) logger.warn(warning)
    const before = closing ?? Promise.resolve()
    closing = before
      .then(() => close(parts, open, stopping.signal))
      .catch((err) => logger.error({ err }, 'the sandbox could not be closed'))
  }
  directory.whenChanged(look)
  look()
  await closing
  return {
    async stop() {
      stopping.abort()
      await closing
    },
  }
}

async function close(
  { dataDirectory, merchants, users, context, logger }: SandboxParts,
  open: readonly Merchant[],
  signal: AbortSignal,
): Promise<void> {
  const closed = await retryWhileUnavailable(() => closeSandbox(dataDirectory, { merchants, users }, open, context), {
    signal,
    onUnavailable: (err, failures) => logger.warn({ err, failures }, 'the sandbox is not closed yet'),
  })
  for (const merchantId of closed ?? []) logger.info({ merchantId }, 'the sandbox is over: its merchant is suspended')
}

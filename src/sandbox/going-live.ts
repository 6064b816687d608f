import type { Merchant } from '../domain/merchant/merchant.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import { retryWhileUnavailable } from '../subscriptions/retry.js'
import { missingGateways } from '../wallet/messages/gateways.js'
import { closeSandbox, isSandbox, type SandboxParts } from './sandbox.js'

/** Returns a warning for each kind of message that has no gateway. A wallet core sends its messages itself. */
export function messageWarnings({ wallet, messages }: Pick<Configuration, 'wallet' | 'messages'>): readonly string[] {
  return wallet.engine === 'http' ? [] : missingGateways(messages)
}

/**
 * Closes the sandbox once a live merchant exists: immediately, or when a command or another node registers one. If one exists already,
 * resolves after the sandbox is closed.
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
    // The sandbox can gain merchants after it closes, for example when their events become readable.
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
  for (const merchantId of closed ?? []) logger.info({ merchantId }, 'the sandbox has ended: its merchant is suspended')
}

import { type CommandContext, handleCommand, loadStream } from '../../commands/handle-command.js'
import { secretOwner } from '../../commands/merchant/merchant-commands.js'
import { userSecretOwner } from '../../commands/user/user-commands.js'
import { type Merchant, merchantDecider } from '../../domain/merchant/merchant.js'
import { type StreamPrefix, streamKind, streamPrefix } from '../../domain/streams.js'
import { type User, userDecider } from '../../domain/user/user.js'
import { type WalletAccount, walletAccountDecider } from '../../domain/wallet-account.js'
import { type DomainEvent, UnreadableEventError } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Decider } from '../../kernel/rules.js'
import type { Clock } from '../../kernel/time.js'
import { keyIdOf, type SecretBox, SecretBoxError } from '../../security/secret-box.js'
import { walletContactOwner } from '../../wallet/built-in/wallet-accounts.js'

interface Sealed {
  readonly text: string
  readonly owner: string
}

interface Reseal {
  readonly type: 'Reseal'
  readonly resealed: ReadonlyMap<string, string>
  readonly at: string
}

/** A stream with encrypted values. */
export interface SealedStream {
  /** The kind of the stream, in the plural. */
  readonly kind: string
  readonly stream: string
  /** Empty if the stream is unreadable. */
  readonly sealed: readonly Sealed[]
  readonly problem?: UnreadableEventError
  /** Encrypts each value with the current key, and returns how many. Values that cannot be decrypted stay. */
  reseal(parts: ResealParts): Promise<number>
}

interface ResealParts {
  readonly store: EventStore
  readonly box: SecretBox
  readonly clock: Clock
  readonly context: CommandContext
}

const pageSize = 500

/** Yields every stream with encrypted values, oldest first. @throws StoreUnavailableError */
export async function* sealedStreams(store: EventStore): AsyncIterable<SealedStream> {
  const streamPrefixes = Object.keys(kinds)
  for (let after = {}; ; ) {
    const page = await store.readAll({ streamPrefixes, maxCount: pageSize, ...after })
    for (const { stream, revision } of page.events) {
      const read = revision === 0 && kinds[streamKind(stream) as StreamPrefix]
      if (read) yield await read(store, stream)
    }
    if (page.atEnd || !page.checkpoint) return
    after = { after: page.checkpoint }
  }
}

const kinds: { readonly [prefix in StreamPrefix]?: (store: EventStore, stream: string) => Promise<SealedStream> } = {
  [streamPrefix.merchant]: reader('merchants', merchantDecider, (state) =>
    state.merchantId === null ? [] : sealedOfMerchant(state),
  ),
  [streamPrefix.user]: reader('users', userDecider, (state) => (state.userId === null ? [] : sealedOfUser(state))),
  [streamPrefix.wallet]: reader('wallet accounts', walletAccountDecider, (state) =>
    state.accountNumber === null ? [] : sealedOfAccount(state),
  ),
}

function sealedOfMerchant({ merchantId, secretKeys, webhookSecret: { current, previous } }: Merchant): Sealed[] {
  const webhookSecrets = [current, ...(previous ? [previous.value] : [])]
  return [
    ...secretKeys.all.map(({ sealed }) => ({ text: sealed, owner: secretOwner(merchantId, 'secretKey') })),
    ...webhookSecrets.map((text) => ({ text, owner: secretOwner(merchantId, 'webhookSecret') })),
  ]
}

function sealedOfUser({ userId, email, secondFactor }: User): Sealed[] {
  const factor = secondFactor === null ? [] : [{ text: secondFactor, owner: userSecretOwner(userId, 'second factor') }]
  return [{ text: email, owner: userSecretOwner(userId, 'email') }, ...factor]
}

function sealedOfAccount({ accountNumber, email, phone }: WalletAccount): Sealed[] {
  return [
    { text: email, owner: walletContactOwner(accountNumber, 'email') },
    { text: phone, owner: walletContactOwner(accountNumber, 'phone') },
  ]
}

function reader<State, Command, Event extends DomainEvent>(
  kind: string,
  decider: Decider<State, Command | Reseal, Event>,
  sealedOf: (state: State) => readonly Sealed[],
) {
  return async (store: EventStore, stream: string): Promise<SealedStream> => {
    try {
      const { state } = await loadStream(store, decider, stream)
      const sealed = sealedOf(state).filter(({ text }) => keyIdOf(text) !== undefined)
      const reseal = async ({ box, clock, context }: ResealParts) => {
        const resealed = encryptAgain(box, sealed)
        const command: Reseal = { type: 'Reseal', resealed, at: clock() }
        if (resealed.size > 0) await handleCommand(store, decider, stream, command, context)
        return resealed.size
      }
      return { kind, stream, sealed, reseal }
    } catch (problem) {
      if (!(problem instanceof UnreadableEventError)) throw problem
      return { kind, stream, sealed: [], problem, reseal: async () => 0 }
    }
  }
}

function encryptAgain(box: SecretBox, sealed: readonly Sealed[]): ReadonlyMap<string, string> {
  const resealed = new Map<string, string>()
  for (const { text, owner } of sealed) {
    if (keyIdOf(text) === box.keyId) continue
    try {
      resealed.set(text, box.reseal(text, owner))
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error
    }
  }
  return resealed
}

import { type CommandContext, handleCommand, loadStream } from '../../commands/handle-command.js'
import { secretOwner } from '../../commands/merchant/merchant-commands.js'
import { userSecretOwner } from '../../commands/user/user-commands.js'
import type { Decider } from '../../domain/decider.js'
import { merchantDecider } from '../../domain/merchant/merchant.js'
import { type StreamPrefix, streamKind, streamPrefix } from '../../domain/streams.js'
import { userDecider } from '../../domain/user/user.js'
import { walletAccountDecider } from '../../domain/wallet-account.js'
import { type DomainEvent, UnreadableEventError } from '../../event-store/event-codec.js'
import { addEventCodes } from '../../event-store/event-codes.js'
import { type EventStore, logPages } from '../../event-store/event-store.js'
import { skipEvents } from '../../event-store/read-event.js'
import { giveUpLostKeys } from '../../privacy/customer-erasure.js'
import {
  createSecretBox,
  digestKeyOf,
  idOfMasterKey,
  keyIdOf,
  type SecretBox,
  SecretBoxError,
} from '../../security/secret-box.js'
import { walletContactOwner } from '../../wallet/built-in/wallet-accounts.js'
import { auditKeyOwner, auditKeyPath, readSealedAuditKey, restartTree } from '../audit/audit-files.js'
import type { Configuration } from '../configuration/configuration.js'
import { writeFileDurably } from '../files/durable-file.js'
import { openCustomerKeys, openEventStore, openLog, requireLog } from '../stores/stores.js'
import {
  eventKeyIn,
  firstKeyId,
  type MasterKeys,
  masterKeysOf,
  readDigestKey,
  ringOf,
  sealDigestKey,
} from './key-ring.js'

export type KeyList = Awaited<ReturnType<typeof listed>>
export type KeyListed = KeyList['keys'][number]

/** A key cannot be abandoned, or some values could not be encrypted again. The message states the reason. */
export class KeyRefusedError extends Error {
  override readonly name = 'KeyRefusedError'
}

/** Lists the keys, even if none of them opens the log. @throws MasterKeyError, NoLogError, CannotOpenLogError, StoreUnavailableError */
export async function listKeys(configuration: Configuration): Promise<KeyList> {
  return withRawLog(configuration, async (log, keys) => listed(configuration, log, keys))
}

export type Rotation = Awaited<ReturnType<typeof rotateKeys>>

/**
 * Encrypts every value again with the current key. The next run continues an interrupted one.
 * @throws KeyRefusedError if values remain under a different key, and the errors of {@link openLog}
 */
export async function rotateKeys(configuration: Configuration, context: CommandContext) {
  requireLog(configuration)
  const resealed = new Map<string, number>()
  const count = (of: string, n: number) => n > 0 && resealed.set(of, (resealed.get(of) ?? 0) + n)
  const log = await openLog(configuration)
  try {
    const { eventStore: store, box } = log
    const { sealed, revision } = await readDigestKey(log.rawEventStore)
    if (sealed !== undefined && keyIdOf(sealed) !== box.keyId) {
      await sealDigestKey(log.rawEventStore, log.keyRing, revision, { by: context })
      count('digests', 1)
    }
    for await (const stream of sealedStreams(store)) count(stream.kind, await stream.reseal(box, context))
    count('customers', await log.customerKeys.reseal())
    count('audit', resealAuditKey(configuration, box))
  } finally {
    await log.close()
  }
  const { keys, unreadable } = await listKeys(configuration)
  const current = keys.find(({ seals }) => seals)!
  const left = keys.filter((key) => key !== current && Object.keys(key.sealed).length > 0)
  const problems = [...left.map(remaining), ...unreadable.map((place) => `${place} cannot be read`)]
  if (problems.length > 0) throw new KeyRefusedError(`some values could not be encrypted again: ${problems.join('; ')}`)
  const unused = keys.filter((key) => key !== current).map(({ keyId }) => keyId)
  /** The key that encrypts, the number of values that were encrypted again by their kind, and the keys that are no longer in use. */
  return { keyId: current.keyId, resealed: Object.fromEntries(resealed), unused }
}

/**
 * Starts a new digest key, because the master key that decrypts the existing one is lost: all passwords become invalid, and personal data
 * reads as erased. @throws KeyRefusedError unless the log cannot be opened without exactly this key
 */
export async function giveUpKey(
  configuration: Configuration,
  keyId: string,
  reason: string,
  by: CommandContext,
): Promise<KeyList> {
  return withRawLog(configuration, async (log, keys) => {
    const { sealed, revision } = await readDigestKey(log)
    const needed = sealed === undefined ? await firstKeyId(log) : keyIdOf(sealed)
    if (needed !== keyId)
      throw new KeyRefusedError(`the log's digest key is not encrypted with ${keyId}, but with ${needed ?? 'no key'}`)
    if (keys.some(({ key }) => idOfMasterKey(key) === keyId))
      throw new KeyRefusedError(`${keyId} is given, so it is not lost`)
    const ring = ringOf(keys)
    const box = createSecretBox(ring)
    const customerKeys = openCustomerKeys(configuration, box)
    const raw = addEventCodes(log, eventKeyIn(box))
    try {
      // Before the digests, so that a repeat completes an interrupted run.
      const parts = { raw, keys: customerKeys, clock: () => new Date().toISOString() }
      await giveUpLostKeys(parts, customerKeys.unopened(), reason, by)
    } finally {
      await customerKeys.close()
    }
    await sealDigestKey(log, { ...ring, digestKey: digestKeyOf(ring.current) }, revision, { reason, by })
    // The key of the tree is lost too.
    await restartTree({ eventStore: raw, rawEventStore: log }, box, configuration.audit.origin, reason, by)
    return listed(configuration, log, keys)
  })
}

async function withRawLog<Result>(
  configuration: Configuration,
  work: (log: EventStore, keys: MasterKeys['keys']) => Promise<Result>,
): Promise<Result> {
  requireLog(configuration)
  const { keys } = await masterKeysOf(configuration)
  const { eventStore } = await openEventStore(configuration.eventStore)
  try {
    return await work(skipEvents(eventStore), keys)
  } finally {
    await eventStore.close()
  }
}

async function listed(configuration: Configuration, log: EventStore, given: MasterKeys['keys']) {
  const tally = new Map<string, Map<string, number>>(given.map(({ key }) => [idOfMasterKey(key), new Map()]))
  const count = (text: string, of: string) => {
    const keyId = keyIdOf(text) ?? 'unknown'
    const sealed = tally.get(keyId) ?? new Map<string, number>()
    tally.set(keyId, sealed.set(of, (sealed.get(of) ?? 0) + 1))
  }
  const { sealed: digestKey } = await readDigestKey(log)
  if (digestKey !== undefined) count(digestKey, 'digests')
  const unreadable: string[] = []
  for await (const { kind, sealed, problem } of sealedStreams(log)) {
    for (const { text } of sealed) count(text, kind)
    if (problem) unreadable.push(`${problem.stream}@${problem.revision}`)
  }
  const customerKeys = openCustomerKeys(configuration, createSecretBox(ringOf(given)))
  try {
    for await (const { sealed } of customerKeys.all()) count(sealed, 'customers')
  } finally {
    await customerKeys.close()
  }
  const auditKey = readSealedAuditKey(configuration.dataDirectory)
  if (auditKey !== undefined) count(auditKey, 'audit')
  const fromOf = new Map(given.map(({ key, from }) => [idOfMasterKey(key), from]))
  const current = idOfMasterKey(given.at(-1)!.key)
  /** The given keys, of which the last one encrypts, followed by other keys in use, whose source is null. */
  const keys = [...tally].map(([keyId, sealed]) => ({
    keyId,
    from: fromOf.get(keyId) ?? null,
    seals: keyId === current,
    /** The number of values that it encrypts, by their kind; kinds without any are omitted. */
    sealed: Object.fromEntries(sealed) as { readonly [of: string]: number },
  }))
  /** The unreadable events are `stream@revision`. The encrypted values in their streams are unknown. */
  return { keys, unreadable }
}

function resealAuditKey({ dataDirectory }: Configuration, box: SecretBox): number {
  const sealed = readSealedAuditKey(dataDirectory)
  if (sealed === undefined || keyIdOf(sealed) === box.keyId) return 0
  try {
    writeFileDurably(auditKeyPath(dataDirectory), `${box.reseal(sealed, auditKeyOwner)}\n`)
    return 1
  } catch (error) {
    // The list of keys then shows it as not encrypted again.
    if (error instanceof SecretBoxError) return 0
    throw error
  }
}

function remaining({ keyId, from, sealed }: KeyListed): string {
  const values = Object.entries(sealed).map(([of, n]) => `${n} of ${of}`)
  return `${values.join(', ')} still encrypted with ${keyId}${from === null ? ', which is not given' : ''}`
}

type Sealed = { readonly text: string; readonly owner: string }
type Reseal = { readonly type: 'Reseal'; readonly resealed: ReadonlyMap<string, string>; readonly at: string }

/** A stream with encrypted values, with its kind in the plural. */
type SealedStream = Awaited<ReturnType<ReturnType<typeof reader>>>

/** Yields every stream with encrypted values, oldest first. @throws StoreUnavailableError */
async function* sealedStreams(store: EventStore): AsyncIterable<SealedStream> {
  for await (const { events } of logPages(store, { streamPrefixes: Object.keys(kinds) }))
    for (const { stream, revision } of events) {
      const read = revision === 0 && kinds[streamKind(stream) as StreamPrefix]
      if (read) yield await read(store, stream)
    }
}

const kinds: { readonly [prefix in StreamPrefix]?: (store: EventStore, stream: string) => Promise<SealedStream> } = {
  [streamPrefix.merchant]: reader('merchants', merchantDecider, (state) => {
    if (state.merchantId === null) return []
    const { merchantId, secretKeys, webhookSecret } = state
    const webhookSecrets = [webhookSecret.current, ...(webhookSecret.previous ? [webhookSecret.previous.value] : [])]
    return [
      ...secretKeys.all.map(({ sealed }) => ({ text: sealed, owner: secretOwner(merchantId, 'secretKey') })),
      ...webhookSecrets.map((text) => ({ text, owner: secretOwner(merchantId, 'webhookSecret') })),
    ]
  }),
  [streamPrefix.user]: reader('users', userDecider, (state) => {
    if (state.userId === null) return []
    const { userId, email, secondFactor } = state
    const factors =
      secondFactor === null ? [] : [{ text: secondFactor, owner: userSecretOwner(userId, 'second factor') }]
    return [{ text: email, owner: userSecretOwner(userId, 'email') }, ...factors]
  }),
  [streamPrefix.wallet]: reader('wallet accounts', walletAccountDecider, (state) => {
    if (state.accountNumber === null) return []
    const { accountNumber } = state
    return (['email', 'phone'] as const).map((field) => ({
      text: state[field],
      owner: walletContactOwner(accountNumber, field),
    }))
  }),
}

function reader<State, Command, Event extends DomainEvent>(
  kind: string,
  decider: Decider<State, Command | Reseal, Event>,
  sealedOf: (state: State) => readonly Sealed[],
) {
  return async (store: EventStore, stream: string) => {
    try {
      const { state } = await loadStream(store, decider, stream)
      const sealed = sealedOf(state).filter(({ text }) => keyIdOf(text) !== undefined)
      /** Encrypts each value with the current key, and returns how many. Values that cannot be decrypted stay. */
      const reseal = async (box: SecretBox, context: CommandContext) => {
        const resealed = reencrypt(box, sealed)
        const command: Reseal = { type: 'Reseal', resealed, at: new Date().toISOString() }
        if (resealed.size > 0) await handleCommand(store, decider, stream, command, context)
        return resealed.size
      }
      return { kind, stream, sealed, problem: undefined, reseal }
    } catch (problem) {
      if (!(problem instanceof UnreadableEventError)) throw problem
      return { kind, stream, sealed: [], problem, reseal: async () => 0 }
    }
  }
}

function reencrypt(box: SecretBox, sealed: readonly Sealed[]): ReadonlyMap<string, string> {
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

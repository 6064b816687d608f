import { type CommandContext, retryOnConflict } from '../../commands/handle-command.js'
import { digestKeyStream, streamPrefix } from '../../domain/streams.js'
import { type EventData, encodeEvent } from '../../event-store/event-codec.js'
import type { EventStore, ExpectedRevision } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import { createSecretBox, digestKeyOf, idOfMasterKey, type KeyRing, keyIdOf } from '../../security/secret-box.js'
import { MasterKeyError, type MasterKeys } from './master-key.js'

const owner = 'digest key'
const context: CommandContext = { actor: 'system:keys', $correlationId: 'keys', $causationId: 'keys' }
const pageSize = 100

/** The digest key as recorded in the log. */
export interface SealedDigestKey {
  /** `undefined` while the log has had only one master key. */
  readonly sealed: string | undefined
  readonly revision: ExpectedRevision
}

/**
 * Returns the given keys with the digest key, which must never change: users are found and passwords are compared by keyed digests. While a
 * log has had only one master key, the digest key derives from it. With a second one, the log records the digest key, encrypted.
 * @throws MasterKeyError if none of the keys opens the recorded digest key
 */
export async function openKeyRing(store: EventStore, keys: MasterKeys['keys']): Promise<KeyRing> {
  const ring = ringOf(keys)
  return retryOnConflict(digestKeyStream, async () => {
    const { sealed, revision } = await readDigestKey(store)
    if (sealed !== undefined) return { ...ring, digestKey: openDigestKey(ring, sealed) }
    if (keys.length === 1) return ring
    const digestKey = digestKeyOf(await firstKeyOf(store, keys))
    await sealDigestKey(store, { ...ring, digestKey }, revision)
    return { ...ring, digestKey }
  })
}

export function ringOf(keys: MasterKeys['keys']): KeyRing {
  const others = keys.slice(0, -1).map(({ key }) => key)
  return { current: keys.at(-1)!.key, others }
}

/** Returns the latest readable digest key. A foreign event in its stream has no effect. */
export async function readDigestKey(store: EventStore): Promise<SealedDigestKey> {
  const recorded = await store.readStream(digestKeyStream)
  const events = recorded.flatMap((one) => (readableEvent(one)?.data as EventData<'DigestKeySealed'> | undefined) ?? [])
  return { sealed: events.at(-1)?.sealed, revision: recorded.at(-1)?.revision ?? 'no_stream' }
}

function openDigestKey(ring: KeyRing, sealed: string): Buffer {
  try {
    return Buffer.from(createSecretBox(ring).open(sealed, owner), 'base64url')
  } catch (error) {
    throw new MasterKeyError(
      `none of the given master keys opens this log: ${(error as Error).message}. If that key is permanently lost, see docs/operating/keys.md`,
    )
  }
}

/** Records the ring's digest key, encrypted. `reason` states why it differs from the previous one. @throws WrongExpectedRevisionError */
export async function sealDigestKey(
  store: EventStore,
  { digestKey, ...ring }: KeyRing,
  expectedRevision: ExpectedRevision,
  { reason = null, by = context }: { readonly reason?: string | null; readonly by?: CommandContext } = {},
): Promise<void> {
  const text = Buffer.from(digestKey ?? digestKeyOf(ring.current)).toString('base64url')
  const sealed = createSecretBox(ring).seal(text, owner)
  const data = { sealed, reason, at: new Date().toISOString() }
  await store.append(digestKeyStream, expectedRevision, [encodeEvent({ type: 'DigestKeySealed', data }, by)])
}

/** Returns the key of the log's first secret, from which the digests derive, or the current key if there is no secret yet. */
async function firstKeyOf(store: EventStore, keys: MasterKeys['keys']): Promise<Buffer> {
  const id = await firstKeyId(store)
  if (id === undefined) return keys.at(-1)!.key
  const first = keys.find(({ key }) => idOfMasterKey(key) === id)
  if (first) return first.key
  throw new MasterKeyError(
    `the log's first secrets are encrypted with master key ${id}, which is not among the given ones`,
  )
}

/** Returns the id of the key of the first encrypted value. It belongs to a merchant, a user or an account. */
export async function firstKeyId(store: EventStore): Promise<string | undefined> {
  const streamPrefixes = [streamPrefix.merchant, streamPrefix.user, streamPrefix.wallet]
  for (let after = {}; ; ) {
    const page = await store.readAll({ streamPrefixes, maxCount: pageSize, ...after })
    for (const recorded of page.events) {
      const event = readableEvent(recorded)
      const id =
        event && keyIdOf(Object.values(event.data).find((value) => typeof value === 'string' && keyIdOf(value)) ?? '')
      if (id !== undefined) return id
    }
    if (page.atEnd || !page.checkpoint) return undefined
    after = { after: page.checkpoint }
  }
}

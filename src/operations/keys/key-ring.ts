import type { CommandContext } from '../../commands/handle-command.js'
import { retryOnConflict } from '../../commands/write-contention.js'
import { digestKeyStream, streamPrefix } from '../../domain/streams.js'
import { type EventData, encodeEvent } from '../../event-store/event-codec.js'
import type { EventStore, ExpectedRevision } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import { createSecretBox, digestKeyOf, idOfMasterKey, type KeyRing, keyIdOf } from '../../security/secret-box.js'
import type { MasterKeys } from './master-key.js'
import { MasterKeyError } from './master-key-error.js'

const owner = 'digest key'
const context: CommandContext = { actor: 'system:keys', $correlationId: 'keys', $causationId: 'keys' }
const pageSize = 100

/** As the log has it. */
export interface SealedDigestKey {
  /** Undefined where the log has known one master key only. */
  readonly sealed: string | undefined
  readonly revision: ExpectedRevision
}

/**
 * The keys that were given, with what keyed digests are made with: it must be the same for ever, as users are found and passwords are compared
 * by it. While a log knows one master key that is derived from it; with a second one it is recorded in the log, sealed.
 * @throws MasterKeyError where none of the keys opens what the log has
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

/** The latest that can be read: a foreign event in its stream stops nobody. */
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
      `no master key that is given opens this log: ${(error as Error).message}. Where that key is lost for good, see docs/operating/keys.md`,
    )
  }
}

/** Records the ring's digest key under the key that seals. `reason`: why it is another one than before. @throws WrongExpectedRevisionError */
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

/** The one that sealed the log's first secret: whoever has those digests made with. The one that seals now where nothing is sealed yet. */
async function firstKeyOf(store: EventStore, keys: MasterKeys['keys']): Promise<Buffer> {
  const id = await firstKeyId(store)
  if (id === undefined) return keys.at(-1)!.key
  const first = keys.find(({ key }) => idOfMasterKey(key) === id)
  if (first) return first.key
  throw new MasterKeyError(`the log's first secrets are sealed with master key ${id}, which is not among those given`)
}

/** Whatever is sealed first is so with its merchant, its user or its account. */
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

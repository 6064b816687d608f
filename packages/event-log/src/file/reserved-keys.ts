/** The keys that the first event of a stream reserves, and their owner. */
export interface ReservedKeys {
  readonly owner: string
  readonly keys: readonly string[]
}

/** How a stored text names the member of the metadata with the keys. */
export const reservesMember = '"$reserves"'

/** The metadata of an event as JSON text; null for a damaged one. */
export const metadataText = "CASE WHEN json_valid(body) THEN json_extract(body, '$[3]') END"

/** The metadata of an event that reserves keys, as JSON text; null for any other event, and for a damaged one. */
export const reservingMetadata = `CASE WHEN revision = 0 AND instr(body, '${reservesMember}') > 0 THEN ${metadataText} END`

/** The first events of streams that reserve keys. */
export const reservingEvents = `SELECT name, ${reservingMetadata} AS metadata, stream FROM events WHERE metadata IS NOT NULL`

/** Returns the keys that an event with this metadata reserves, if it is the first of its stream. */
export function reservationIn({ $reserves, $reservedFor }: { readonly [name: string]: unknown }): {
  readonly reserves?: readonly string[]
  readonly reservedFor?: string
} {
  if (!Array.isArray($reserves) || !$reserves.every((key) => typeof key === 'string')) return {}
  return { reserves: $reserves, ...(typeof $reservedFor === 'string' && { reservedFor: $reservedFor }) }
}

/** @param metadata An object, or the JSON text of one. */
export function reservedKeys(stream: string, metadata: object | string): ReservedKeys | undefined {
  const { reserves, reservedFor } = reservationIn(typeof metadata === 'string' ? JSON.parse(metadata) : metadata)
  return reserves && reserves.length > 0 ? { owner: reservedFor ?? stream, keys: reserves } : undefined
}

/**
 * Returns the name under which a key is another name of its stream, so that the index of names finds it. No stream has such a name: names
 * have no lone surrogates.
 */
export const nameOfKey = (key: string): string => `\ud800${key}`

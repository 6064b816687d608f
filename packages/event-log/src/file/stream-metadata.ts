import { damagedType, type EventContent, parseObject } from './event-body.js'

/** The `$tb` value of a soft-deleted stream as JSON text, because a double cannot represent it exactly. */
export const softDeletedText = '9223372036854775807'
const softDeletedTb = 2 ** 63
/** The revision of the event that ends a tombstoned stream. Clients see 2^63-1. */
export const tombstoneRevision = Number.MAX_SAFE_INTEGER

/** An access list of roles: users, `$admins`, `$ops`, `$all`. The default applies to an omitted right. */
interface Acl {
  readonly read?: readonly string[]
  readonly write?: readonly string[]
  readonly delete?: readonly string[]
  readonly metaRead?: readonly string[]
  readonly metaWrite?: readonly string[]
}

export interface StreamMetadata {
  readonly maxCount?: number
  readonly maxAgeMs?: number
  /** The first visible revision. */
  readonly truncateBefore: number
  readonly isSoftDeleted: boolean
  readonly acl?: Acl
}

const noMetadata: StreamMetadata = { truncateBefore: 0, isSoftDeleted: false }

/** The metadata of every metadata stream, which shows only its last event. */
export const metadataOfMetadata: StreamMetadata = { ...noMetadata, maxCount: 1 }

/** The bound without a maximum age. It is below every time, so that a negative one, which only damage causes, hides no event. */
export const anyTimeMs = Number.NEGATIVE_INFINITY

/** Returns which events a stream shows: those from revision `first` on that were recorded at `notBeforeMs` or later. */
export function visibleRange({ maxCount, maxAgeMs, truncateBefore }: StreamMetadata, current: number, nowMs: number) {
  return {
    first: Math.max(truncateBefore, maxCount === undefined ? 0 : current - maxCount + 1),
    notBeforeMs: maxAgeMs === undefined ? anyTimeMs : nowMs - maxAgeMs,
  }
}

/** Returns the name of the stream that stores the metadata of `stream`. */
export function metadataStream(stream: string): string {
  return `$$${stream}`
}

export function isMetadataStream(stream: string): boolean {
  return stream.startsWith('$$')
}

const admins = ['$admins']
/** Damaged metadata may have restricted access, so it leaves the stream to administrators. */
const damagedMetadata: StreamMetadata = {
  ...noMetadata,
  acl: { read: admins, write: admins, delete: admins, metaRead: admins, metaWrite: admins },
}

/** Parses a metadata event, if there is one. A single invalid value voids all of the metadata, as in EventStoreDB. */
export function parseMetadata(event: Pick<EventContent, 'type' | 'isJson' | 'data'> | undefined): StreamMetadata {
  if (event?.type === damagedType) return damagedMetadata
  const object = event?.isJson ? parseObject(event.data) : undefined
  if (object === undefined) return noMetadata
  const { $maxCount, $maxAge, $tb, $acl } = object
  if (!isWhole($maxCount, 1) || !isWhole($maxAge, 1) || !isWhole($tb, 0)) return noMetadata
  const acl = $acl === undefined ? undefined : parseAcl($acl)
  if ($acl !== undefined && acl === undefined) return noMetadata
  return {
    ...($maxCount !== undefined && { maxCount: $maxCount }),
    ...($maxAge !== undefined && { maxAgeMs: $maxAge * 1_000 }),
    truncateBefore: $tb ?? 0,
    isSoftDeleted: $tb !== undefined && $tb >= softDeletedTb,
    ...(acl && { acl }),
  }
}

function isWhole(value: unknown, least: number): value is number | undefined {
  return value === undefined || (typeof value === 'number' && Number.isInteger(value) && value >= least)
}

function parseAcl(value: unknown): Acl | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const acl: Record<string, readonly string[]> = {}
  for (const [key, name] of Object.entries({
    $r: 'read',
    $w: 'write',
    $d: 'delete',
    $mr: 'metaRead',
    $mw: 'metaWrite',
  })) {
    const roles = (value as Record<string, unknown>)[key]
    if (roles === undefined) continue
    if (typeof roles === 'string') acl[name] = [roles]
    else if (Array.isArray(roles) && roles.every((role) => typeof role === 'string')) acl[name] = roles
    else return undefined
  }
  return acl
}

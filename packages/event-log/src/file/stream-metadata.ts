import { parseObject } from './event-body.js'

/** `$tb` of a soft-deleted stream as JSON text: no double holds this number exactly. */
export const softDeletedText = '9223372036854775807'
const softDeletedTb = 2 ** 63
/** Revision of the event that ends a tombstoned stream; clients see 2^63-1. */
export const tombstoneRevision = Number.MAX_SAFE_INTEGER

/** Roles: users, `$admins`, `$ops`, `$all`. An absent list: the default holds. */
export interface Acl {
  readonly read?: readonly string[]
  readonly write?: readonly string[]
  readonly delete?: readonly string[]
  readonly metaRead?: readonly string[]
  readonly metaWrite?: readonly string[]
}

export interface StreamMetadata {
  readonly maxCount?: number
  readonly maxAgeMs?: number
  /** Lower revisions are hidden. */
  readonly truncateBefore: number
  readonly isSoftDeleted: boolean
  readonly acl?: Acl
}

export const noMetadata: StreamMetadata = { truncateBefore: 0, isSoftDeleted: false }

/** The stream in which the metadata of another is kept. */
export function metadataStream(stream: string): string {
  return `$$${stream}`
}

export function isMetadataStream(stream: string): boolean {
  return stream.startsWith('$$')
}

/** One invalid value makes all of the metadata void, as in EventStoreDB. */
export function parseMetadata(isJson: boolean, data: Uint8Array): StreamMetadata {
  const object = isJson ? parseObject(data) : undefined
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

import { parseCheckpoint, parseNote } from '@transferd/transparency-log'

export const evidenceFormat = 'transferd-evidence/1'

/** A value of a leaf. The order of an object's members is that of the stored event. */
export type Json = null | boolean | number | string | readonly Json[] | JsonFields
export interface JsonFields {
  readonly [field: string]: Json
}

/** The content of evidence.json. docs/auditing/evidence.md describes every field. */
export interface Evidence {
  readonly format: typeof evidenceFormat
  readonly trackingId: string
  /** A signed note. */
  readonly checkpoint: string
  readonly events: readonly { readonly index: number; readonly leaf: string; readonly proof: readonly string[] }[]
  readonly disclosed: readonly Disclosed[]
  readonly older?: { readonly checkpoint: string; readonly proof: readonly string[] }
}

export interface Disclosed {
  readonly index: number
  readonly hashes: readonly string[]
  readonly fields: readonly {
    readonly at: number
    readonly field: string
    readonly salt: string
    /** The JSON text of the value. */
    readonly value: string
  }[]
}

/** An event as its leaf contains it. */
export interface ProvenEvent {
  readonly index: number
  readonly stream: string
  readonly revision: number
  readonly recordedAtMs: number
  readonly id: string
  readonly type: string
  readonly data: JsonFields
  readonly metadata: JsonFields
}

/** Evidence with its leaves and checkpoint parsed. */
export interface OpenedEvidence {
  readonly trackingId: string
  readonly events: readonly ProvenEvent[]
  /** By the index of the event. */
  readonly disclosed: ReadonlyMap<number, Disclosed>
  readonly checkpoint: { readonly origin: string; readonly size: number; readonly root: string }
}

export function openEvidence({ trackingId, events, disclosed, checkpoint }: Evidence): OpenedEvidence {
  const { origin, size, root } = parseCheckpoint(parseNote(checkpoint).text)
  return {
    trackingId,
    events: events.map(({ index, leaf }) => {
      const [, stream, revision, recordedAtMs, [id, type, data, metadata]] = JSON.parse(leaf)
      return { index, stream, revision, recordedAtMs, id, type, data, metadata }
    }),
    disclosed: new Map(disclosed.map((each) => [each.index, each])),
    checkpoint: { origin, size, root: root.toString('base64') },
  }
}

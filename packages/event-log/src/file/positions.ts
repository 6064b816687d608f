/** Returns a position of the log as the `Position` of an event. */
export function toPosition(position: number): { readonly commit: bigint; readonly prepare: bigint } {
  const half = BigInt(position)
  return { commit: half, prepare: half }
}

/**
 * The factor between the log's positions, which are 1, 2, 3, …, and those that clients of the protocol see. It lets the server
 * reject a position without an event, such as a calculated one or one from a different log, as EventStoreDB does.
 */
export const positionScale = 64

/** Returns a position of the log as clients of the protocol see it. */
export function positionText(position: number): string {
  return `${position * positionScale}`
}

/** Returns the first position of the log at or after a position that a client sent. */
export function positionAtOrAfter(text: string): number {
  const scale = BigInt(positionScale)
  return Number((BigInt(text) + scale - 1n) / scale)
}

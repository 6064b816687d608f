import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

/** The counted calls to EventStoreDB. */
export const logCalls = ['append', 'read_stream', 'read_all', 'subscribe', 'ack'] as const
const counted = [...logCalls, 'event_received', 'subscription_dropped'] as const
type Counted = (typeof counted)[number]

const name = 'transferd log counts'

/** The counts of this process. Threads that start later share the memory. */
const counts = new BigInt64Array((getEnvironmentData(name) as SharedArrayBuffer | undefined) ?? newMemory())

function newMemory(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(counted.length * BigInt64Array.BYTES_PER_ELEMENT)
  setEnvironmentData(name, memory)
  return memory
}

export function countInLog(what: Counted, by = 1): void {
  Atomics.add(counts, counted.indexOf(what), BigInt(by))
}

export function logCount(what: Counted): number {
  return Number(Atomics.load(counts, counted.indexOf(what)))
}

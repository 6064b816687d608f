import { createHash, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

const HOLDER = /^(.+)\/(\d+)\/[^/]+$/

/** This process among all that use the same stores, as `host/pid`. */
export function ownNodeId(): string {
  return `${hostId()}/${process.pid}`
}

/** Names one use of one lease, as `host/pid/random`: threads of a process differ in the random part. */
export function newHolderId(): string {
  return `${ownNodeId()}/${randomUUID()}`
}

/** The process of a holder, as {@link ownNodeId} names it. */
export function nodeOfHolder(holder: string): string {
  const [, host, pid] = HOLDER.exec(holder) ?? []
  return host === undefined ? holder : `${host}/${pid}`
}

/** True only when certain: the holder ran where process ids mean what they mean here, and its process is gone. */
export function isDeadHolder(holder: string): boolean {
  const [, host, pid] = HOLDER.exec(holder) ?? []
  if (host === undefined || host !== hostId()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    // EPERM is a process of somebody else, alive all the same.
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/**
 * The host's name is not enough: two containers may share it and a volume, and each would find the other's process ids dead
 * while both run. So the boot and the namespace of process ids count in, where the system tells them.
 */
function hostId(): string {
  const namespace = [
    () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'),
    () => readlinkSync('/proc/self/ns/pid'),
  ]
  const parts = namespace.map((read) => {
    try {
      return read()
    } catch {
      return ''
    }
  })
  return `${hostname()}-${createHash('sha256').update(parts.join()).digest('hex').slice(0, 12)}`
}
